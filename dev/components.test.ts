import { expect, test } from "vitest";
import { buildTitle, GoOutput } from "./components.ts";

test("components: the title of a build contains module, version and number of programs", () => {
  expect(buildTitle(["kubelet", "kubectl"])).toMatch(/^kubernetes \d+\.\d+\.\d+ \(2 programs\) built$/);
  expect(buildTitle(["etcd-3.6.16"])).toBe("etcd 3.6.16 built");
  expect(buildTitle(["pause"])).toBe("pause 1 built");
});

test("components: downloads and packages in go's output are counted, and its errors are kept", () => {
  const notes: string[] = [];
  const output = new GoOutput((text) => notes.push(text));
  const lines = [
    "go: downloading go.etcd.io/bbolt v1.4.3",
    "internal/cpu",
    "google.golang.org/grpc",
    "# go.etcd.io/etcd/server/v3",
    "../main.go:7:2: undefined: nothing",
    "",
  ];
  for (const line of lines) output.read(line);
  expect(notes).toEqual(["1 modules downloaded", "1 packages compiled", "2 packages compiled"]);
  expect(output.errors).toEqual(["# go.etcd.io/etcd/server/v3", "../main.go:7:2: undefined: nothing"]);
});
