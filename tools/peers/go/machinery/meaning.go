package main

import (
	"encoding"
	"fmt"
	"os"
	"reflect"
	"sort"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
)

const deepest = 12

// What is no setting: how a config is stored, checked, copied or changed.
var skipped = map[string]bool{
	"Bytes": true, "Clone": true, "CompleteForBoot": true, "Documents": true, "EncodeBytes": true, "EncodeString": true,
	"PatchV1Alpha1": true, "RawV1Alpha1": true, "Readonly": true, "RedactSecrets": true, "RuntimeValidate": true,
	"Validate": true, "ValidateAsClient": true, "ValidateAtRuntime": true, "DeepCopy": true, "DeepCopyInto": true,
	"Doc": true, "MarshalYAML": true, "Has": true, "Kind": true, "APIVersion": true, "Redact": true, "Secrets": true,
	"V1Alpha1ConflictValidate": true, "ConflictsWithKinds": true, "ControlplaneOnlyDocument": true, "String": true,
	"PersistentVolumeName": true,
}

func meaningCommand(files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}

		provider, err := configloader.NewFromBytes(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}

		if err := printJSON(read(reflect.ValueOf(provider), 0)); err != nil {
			return err
		}
	}

	return nil
}

// read calls every method that takes nothing and gives one value, and reads that value in the same way.
func read(value reflect.Value, depth int) any {
	for value.IsValid() && value.Kind() == reflect.Interface {
		value = value.Elem()
	}

	if !value.IsValid() || isNil(value) {
		return nil
	}

	if depth > deepest {
		return "deeper than the oracle looks"
	}

	if text, ok := value.Interface().(encoding.TextMarshaler); ok {
		written, err := text.MarshalText()
		if err == nil {
			return string(written)
		}
	}

	if text, ok := value.Interface().(fmt.Stringer); ok && value.Kind() != reflect.Struct {
		return text.String()
	}

	if made := answers(value, depth); len(made) > 0 {
		return made
	}

	switch value.Kind() {
	case reflect.Pointer:
		return read(value.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return string(value.Bytes())
		}

		items := make([]any, value.Len())
		for index := range items {
			items[index] = read(value.Index(index), depth+1)
		}

		return items
	case reflect.Map:
		items := map[string]any{}
		for _, key := range value.MapKeys() {
			items[fmt.Sprint(key.Interface())] = read(value.MapIndex(key), depth+1)
		}

		return items
	case reflect.Struct:
		return fields(value, depth)
	case reflect.Func, reflect.Chan:
		return nil
	default:
		return value.Interface()
	}
}

func answers(value reflect.Value, depth int) map[string]any {
	made := map[string]any{}

	var names []string
	for index := range value.NumMethod() {
		names = append(names, value.Type().Method(index).Name)
	}

	sort.Strings(names)

	for _, name := range names {
		method := value.MethodByName(name)
		kind := method.Type()

		if skipped[name] || kind.NumIn() != 0 || kind.NumOut() != 1 || returnsItself(kind.Out(0), value.Type()) {
			continue
		}

		made[name] = call(method, depth)
	}

	return made
}

func returnsItself(out, own reflect.Type) bool {
	return out == own || (out.Kind() == reflect.Struct && reflect.PointerTo(out) == own)
}

// Some accessors cannot answer for a config of one form alone, and panic.
func call(method reflect.Value, depth int) (answer any) {
	defer func() {
		if problem := recover(); problem != nil {
			answer = fmt.Sprintf("panic: %v", problem)
		}
	}()

	return read(method.Call(nil)[0], depth+1)
}

func fields(value reflect.Value, depth int) map[string]any {
	made := map[string]any{}

	for index := range value.NumField() {
		if field := value.Type().Field(index); field.IsExported() {
			made[field.Name] = read(value.Field(index), depth+1)
		}
	}

	return made
}

func isNil(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return value.IsNil()
	default:
		return false
	}
}
