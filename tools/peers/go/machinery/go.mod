module talosmith.test/machinery

go 1.26.0

require github.com/siderolabs/talos/pkg/machinery v1.14.1

// The exact versions of these are not published as modules; the neighbouring ones are, and nothing of them is asked.
replace (
	github.com/cosi-project/runtime => github.com/cosi-project/runtime v1.16.2
	github.com/jsimonetti/rtnetlink/v2 => github.com/jsimonetti/rtnetlink/v2 v2.2.0
)
