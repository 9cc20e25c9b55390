package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
)

// typeOf describes a Go type. Struct types are built when the program runs, so that a changed schema needs no build.
// encoding/json treats them like types in source code.
type typeOf struct {
	Is     string  `json:"is"`
	Of     *typeOf `json:"of"`
	Fields []field `json:"fields"`
}

// field of a struct.
type field struct {
	Name string `json:"name"`
	Type typeOf `json:"type"`
	// OmitEmpty: encoding leaves out the zero value.
	OmitEmpty bool `json:"omitEmpty"`
	Pointer   bool `json:"pointer"`
}

var plain = map[string]reflect.Type{
	"bool":        reflect.TypeFor[bool](),
	"duration":    reflect.TypeFor[metav1.Duration](),
	"float64":     reflect.TypeFor[float64](),
	"int32":       reflect.TypeFor[int32](),
	"int64":       reflect.TypeFor[int64](),
	"intOrString": reflect.TypeFor[intstr.IntOrString](),
	"metadata":    reflect.TypeFor[metav1.ObjectMeta](),
	"podSpec":     reflect.TypeFor[corev1.PodSpec](),
	"quantity":    reflect.TypeFor[resource.Quantity](),
	"raw":         reflect.TypeFor[json.RawMessage](),
	"string":      reflect.TypeFor[string](),
	"time":        reflect.TypeFor[metav1.Time](),
}

func (t typeOf) build() (reflect.Type, error) {
	switch t.Is {
	case "struct":
		return structOf(t.Fields)
	case "list", "map":
		of, err := t.Of.build()
		if err != nil {
			return nil, err
		}
		if t.Is == "list" {
			return reflect.SliceOf(of), nil
		}
		return reflect.MapOf(plain["string"], of), nil
	}
	if found, ok := plain[t.Is]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("there is no type %q", t.Is)
}

func structOf(fields []field) (reflect.Type, error) {
	built := make([]reflect.StructField, 0, len(fields))
	for _, each := range fields {
		of, err := each.Type.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.Name, err)
		}
		if each.Pointer {
			of = reflect.PointerTo(of)
		}
		tag := each.Name
		if each.OmitEmpty {
			tag += ",omitempty"
		}
		built = append(built, reflect.StructField{
			Name: strings.ToUpper(each.Name[:1]) + each.Name[1:],
			Type: of,
			Tag:  reflect.StructTag(fmt.Sprintf("json:%q", tag)),
		})
	}
	return reflect.StructOf(built), nil
}

// kinds are the structs by kind.
type kinds map[string]reflect.Type

func readKinds(line []byte) (kinds, error) {
	described := map[string]typeOf{}
	if err := json.Unmarshal(line, &described); err != nil {
		return nil, fmt.Errorf("the types: %w", err)
	}
	found := kinds{}
	for kind, each := range described {
		built, err := each.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		found[kind] = built
	}
	return found, nil
}

// roundTrip decodes with the decoder of client-go: names match with their case, and unknown fields are errors.
func (k kinds) roundTrip(line []byte) (answer, error) {
	meta := metav1.TypeMeta{}
	if err := json.Unmarshal(line, &meta); err != nil {
		return answer{}, err
	}
	of, ok := k[meta.Kind]
	if !ok {
		return answer{}, fmt.Errorf("there is no type for kind %q", meta.Kind)
	}
	object := reflect.New(of).Interface()
	unknown, err := kjson.UnmarshalStrict(line, object)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return answer{}, err
	}
	return answer{Object: object}, nil
}
