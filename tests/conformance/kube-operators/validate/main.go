// Command validate runs the operators' own validation on objects of theirs. Stdin: a Kubernetes List in JSON, as the API server
// answers, its defaults filled in. Stdout: a line of JSON for each object, in order: kind, name and the errors; "judge" says whose
// functions looked at it and is absent where no operator of this program knows the kind.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

type verdict struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Judge  string   `json:"judge,omitempty"`
	Errors []string `json:"errors"`
}

// A judge gives what an operator says of an object of its kind.
type judge struct {
	name  string
	check func(context.Context, map[string]any) error
}

// decode reads an object into the operator's type; a key that the type lacks is an error.
func decode[T any](content map[string]any) (*T, error) {
	object := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, object, true)
	return object, err
}

// guarded turns a panic of an operator's function into an error: its controller would die of the object.
func guarded(ctx context.Context, one judge, content map[string]any) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the operator's code panics: %v", reason)
		}
	}()
	return one.check(ctx, content)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "validate:", err)
	os.Exit(1)
}

func main() {
	var list unstructured.UnstructuredList
	if err := json.NewDecoder(os.Stdin).Decode(&list); err != nil {
		fail(err)
	}
	ctx := context.Background()
	judges, err := judgesOf(ctx, list.Items)
	if err != nil {
		fail(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, item := range list.Items {
		result := verdict{Kind: item.GetKind(), Name: item.GetName(), Errors: []string{}}
		if one, ok := judges[item.GetAPIVersion()+" "+item.GetKind()]; ok {
			result.Judge = one.name
			if err := guarded(ctx, one, item.Object); err != nil {
				result.Errors = append(result.Errors, err.Error())
			}
		}
		if err := out.Encode(result); err != nil {
			fail(err)
		}
	}
}
