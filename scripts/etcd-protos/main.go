// Compiles etcd's own .proto files and writes a CodeGeneratorRequest for a protoc plugin to standard output.
//
// Why a Go program: the .proto files come with a Go module, so Go is needed in any case; go.sum then pins the compiler
// and the protos by hash, and no npm package with a binary per platform is needed.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	// Keeps the module with the protos in go.mod.
	_ "go.etcd.io/etcd/api/v3/version"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// Files for the client: rpc.proto and the two files that it imports.
var files = []string{"mvccpb/kv.proto", "authpb/auth.proto", "etcdserverpb/rpc.proto"}

// Options and imports for etcd's REST gateway, OpenAPI document and write-ahead log, which a client does not need.
var foreign = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^import "(google/api|protoc-gen-openapiv2|etcd/api/versionpb|gogoproto)/.*$`),
	regexp.MustCompile(`(?ms)^option \(grpc\.gateway\..*?^};`),
	regexp.MustCompile(`(?s)option \(google\.api\.http\) = \{.*?\};`),
	regexp.MustCompile(`option \((versionpb|gogoproto)\.[^;]*;`),
	regexp.MustCompile(`\s*\[\((versionpb|gogoproto)\.[^\]]*\]`),
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.etcd.io/etcd/api/v3").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	root := strings.TrimSpace(string(found))
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			Accessor: func(name string) (io.ReadCloser, error) { return open(path.Join(root, name)) },
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: files,
		Parameter:      proto.String(strings.Join(os.Args[1:], ",")),
	}
	for _, file := range compiled {
		request.ProtoFile = append(request.ProtoFile, proto.Clone(protoutil.ProtoFromFileDescriptor(file)).(*descriptorpb.FileDescriptorProto))
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(bytes)
	return err
}

// open returns the text of a proto without foreign options. Imports lose a prefix that the module's folders lack.
func open(file string) (io.ReadCloser, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, pattern := range foreign {
		text = pattern.ReplaceAll(text, nil)
	}
	return io.NopCloser(strings.NewReader(strings.ReplaceAll(string(text), `import "etcd/api/`, `import "`))), nil
}
