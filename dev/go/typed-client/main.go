// Command typed-client reads objects of this API as other people's Go programs do. The first argument is the reader:
//
//	round-trip  decodes each object into Go structs, strictly, and prints it as the structs encode it
//	kstatus     prints the status that kstatus computes, the library of Flux and Helm
//
// Each line of the input is a JSON object, and has a line of output. The first line for round-trip has the types.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// maxLine is the longest line in bytes. The API server accepts objects of 3 MiB.
const maxLine = 16 << 20

// answer is a line of output. Error has what a client would report.
type answer struct {
	Object  any    `json:"object,omitempty"`
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLine)
	read := computeStatus
	if len(args) != 1 || (args[0] != "round-trip" && args[0] != "kstatus") {
		return fmt.Errorf("the arguments are %v; they must be round-trip or kstatus", args)
	}
	if args[0] == "round-trip" {
		if !lines.Scan() {
			return fmt.Errorf("the input is empty; its first line must have the types")
		}
		kinds, err := readKinds(lines.Bytes())
		if err != nil {
			return err
		}
		read = kinds.roundTrip
	}
	encoder := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		result, err := read(lines.Bytes())
		if err != nil {
			result = answer{Error: err.Error()}
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

func computeStatus(line []byte) (answer, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(line); err != nil {
		return answer{}, err
	}
	result, err := status.Compute(object)
	if err != nil {
		return answer{}, err
	}
	return answer{Status: result.Status.String(), Message: result.Message}, nil
}
