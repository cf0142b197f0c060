package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"go.yaml.in/yaml/v4"
)

// A Kind is a document kind and what Talos says of it besides its fields.
type Kind struct {
	Type             Type     `json:"type"`
	Named            bool     `json:"named"`
	ControlPlaneOnly bool     `json:"controlPlaneOnly"`
	Excludes         []string `json:"excludes"`
}

// A Type describes a Go type as far as machine configs show it.
type Type struct {
	Shape   string  `json:"shape"` // struct, list, map, pointer, text (by its own rules), or a Go kind
	Name    string  `json:"name"`
	Item    *Type   `json:"item,omitempty"`
	Fields  []Field `json:"fields,omitempty"`
	Merges  bool    `json:"merges,omitempty"`  // it has merge rules of its own
	Writes  bool    `json:"writes,omitempty"`  // it is written by rules of its own
	HasZero bool    `json:"hasZero,omitempty"` // it says itself whether it is empty
}

// A Field of a struct, in the order of the source.
type Field struct {
	Key       string `json:"key"`
	Type      Type   `json:"type"`
	OmitEmpty bool   `json:"omitEmpty"`
	Inline    bool   `json:"inline,omitempty"`
	Merge     string `json:"merge,omitempty"`
	Talos     string `json:"talos,omitempty"`
}

func schemaCommand() error {
	found := map[string]Kind{}

	for _, kind := range registeredKinds() {
		if kind == "v1alpha1" {
			found[kind] = Kind{Type: describe(reflect.TypeFor[v1alpha1.Config](), nil)}

			continue
		}

		document, err := load(kind)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}

		described := Kind{Type: describe(reflect.TypeOf(document).Elem(), nil)}
		_, described.Named = document.(config.NamedDocument)
		_, described.ControlPlaneOnly = document.(container.ControlplaneOnlyConfig)

		if rivals, ok := document.(config.ConflictingDocument); ok {
			described.Excludes = rivals.ConflictsWithKinds()
		}

		found[kind] = described
	}

	return printJSON(found)
}

func load(kind string) (config.Document, error) {
	text := fmt.Sprintf("apiVersion: v1alpha1\nkind: %s\n", kind)

	provider, err := configloader.NewFromBytes([]byte(text), configloader.WithNoValidation())
	if err != nil {
		return nil, err
	}

	return provider.Documents()[0], nil
}

type merger interface{ Merge(other any) error }

func describe(of reflect.Type, above []reflect.Type) Type {
	pointer := reflect.PointerTo(of)
	made := Type{
		Name:    of.String(),
		Merges:  of.Kind() != reflect.Pointer && pointer.Implements(reflect.TypeFor[merger]()),
		HasZero: of.Implements(reflect.TypeFor[interface{ IsZero() bool }]()),
		Writes: of.Implements(reflect.TypeFor[yaml.Marshaler]()) ||
			of.Implements(reflect.TypeFor[encoding.TextMarshaler]()),
	}

	reads := pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[yaml.Unmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[interface{ UnmarshalYAML(func(any) error) error }]())

	switch of.Kind() {
	case reflect.Pointer:
		made.Shape = "pointer"
		item := describe(of.Elem(), above)
		made.Item = &item
	case reflect.Slice:
		made.Shape = "list"
		item := describe(of.Elem(), above)
		made.Item = &item
	case reflect.Map:
		made.Shape = "map"
		item := describe(of.Elem(), above)
		made.Item = &item
	case reflect.Struct:
		made.Shape = "struct"

		if reads && !strings.Contains(of.String(), "Unstructured") {
			made.Shape = "text"
		}

		for _, one := range above {
			if one == of {
				return made
			}
		}

		made.Fields = fieldsOf(of, append(above, of))
	default:
		made.Shape = of.Kind().String()
		if reads {
			made.Shape = "text"
		}
	}

	return made
}

func fieldsOf(of reflect.Type, above []reflect.Type) []Field {
	var fields []Field

	for index := range of.NumField() {
		field := of.Field(index)

		tag, given := field.Tag.Lookup("yaml")
		if !field.IsExported() || !given || tag == "-" {
			continue
		}

		parts := strings.Split(tag, ",")
		made := Field{
			Key:   parts[0],
			Type:  describe(field.Type, above),
			Merge: field.Tag.Get("merge"),
			Talos: field.Tag.Get("talos"),
		}

		for _, option := range parts[1:] {
			made.OmitEmpty = made.OmitEmpty || option == "omitempty"
			made.Inline = made.Inline || option == "inline"
		}

		fields = append(fields, made)
	}

	return fields
}
