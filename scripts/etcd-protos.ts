// Writes src/etcd/proto/: the messages and services of etcd's gRPC API, as JavaScript with declarations.
//
//   node scripts/etcd-protos.ts           writes the files
//   node scripts/etcd-protos.ts --check   compares only; lists files that differ, and fails
//
// Where do the protos come from? From etcd's Go module; its version and hash are in etcd-protos/go.mod and go.sum.
// How are they compiled? By the Go program in etcd-protos/, which explains why it is Go. protoc-gen-es writes the code.
// Why not TypeScript? The plugin's TypeScript has enums, which Node's type stripping cannot run.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { CodeGeneratorResponseSchema } from "@bufbuild/protobuf/wkt";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COMPILER = join(ROOT, "scripts/etcd-protos");
const PLUGIN = join(ROOT, "node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es");
const TARGET = join(ROOT, "src/etcd/proto");
const PLUGIN_OPTIONS = ["target=js+dts", "import_extension=js"];
/** Most bytes of request and response, which have about 0.1 and 0.3 MB. */
const MAX_BYTES = 16 * 1024 ** 2;

/** Generated files: path below src/etcd/proto → text. */
function generate(): Map<string, string> {
  const request = execFileSync("go", ["run", ".", ...PLUGIN_OPTIONS], { cwd: COMPILER, maxBuffer: MAX_BYTES });
  const response = execFileSync(process.execPath, [PLUGIN], { input: request, maxBuffer: MAX_BYTES });
  const { file, error } = fromBinary(CodeGeneratorResponseSchema, response);
  if (error !== "") throw new Error(`protoc-gen-es: ${error}`);
  return new Map(file.map(({ name, content }) => [name, `${header()}${content}`]));
}

function header(): string {
  const version = /go\.etcd\.io\/etcd\/api\/v3 (v\S+)/.exec(readFileSync(join(COMPILER, "go.mod"), "utf8"))?.[1];
  if (version === undefined) throw new Error("scripts/etcd-protos/go.mod does not name go.etcd.io/etcd/api/v3");
  return [
    `// From the .proto files of go.etcd.io/etcd/api/v3 ${version} (Apache License 2.0), by scripts/etcd-protos.ts. Do not edit.`,
    "// Left out: options for the REST gateway, the OpenAPI document and the write-ahead log.",
    "",
  ].join("\n");
}

function present(): string[] {
  if (!existsSync(TARGET)) return [];
  return readdirSync(TARGET, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(TARGET.length + 1));
}

function write(wanted: Map<string, string>): void {
  rmSync(TARGET, { recursive: true, force: true });
  for (const [name, text] of wanted) {
    mkdirSync(dirname(join(TARGET, name)), { recursive: true });
    writeFileSync(join(TARGET, name), text);
  }
  console.log(`${wanted.size} files are written to src/etcd/proto.`);
}

function check(wanted: Map<string, string>): void {
  const names = new Set([...wanted.keys(), ...present()]);
  const differing = [...names].filter((name) => {
    const file = join(TARGET, name);
    return !existsSync(file) || readFileSync(file, "utf8") !== wanted.get(name);
  });
  for (const name of differing.sort()) console.error(`src/etcd/proto/${name} differs from the generated file.`);
  if (differing.length > 0) process.exitCode = 1;
}

const wanted = generate();
if (process.argv.includes("--check")) check(wanted);
else write(wanted);
