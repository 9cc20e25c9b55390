import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fingerprintOf } from "./operator-image.ts";

const folder = mkdtempSync(join(tmpdir(), "operator-image-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

function content() {
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const program = { from: file("program", "one"), to: "/app/program", mode: 0o644 };
  const library = { from: file("library", "two"), to: "/lib/library", mode: 0o755 };
  return {
    layers: [{ files: [library] }, { files: [program] }],
    entrypoint: ["/app/program"],
    env: { A: "1" },
    user: "1:1",
  };
}

test("the same content has the same name", () => {
  expect(fingerprintOf(content())).toBe(fingerprintOf(content()));
});

test.each<[string, (image: ReturnType<typeof content>) => unknown]>([
  ["a library, as after a system update", ({ layers }) => writeFileSync(layers[0]?.files[0]?.from ?? "", "other")],
  ["the program", ({ layers }) => writeFileSync(layers[1]?.files[0]?.from ?? "", "other")],
  ["where a file lies", ({ layers }) => Object.assign(layers[0]?.files[0] ?? {}, { to: "/lib/elsewhere" })],
  ["the rights of a file", ({ layers }) => Object.assign(layers[0]?.files[0] ?? {}, { mode: 0o644 })],
  ["the layers", ({ layers }) => layers[0]?.files.push(...(layers[1]?.files.splice(0) ?? []))],
  ["the flags of the program", ({ entrypoint }) => entrypoint.push("--flag")],
  ["its environment", ({ env }) => Object.assign(env, { A: "2" })],
  ["its user", (image) => Object.assign(image, { user: "2:2" })],
])("another name comes with a change of %s", (_what, change) => {
  const before = fingerprintOf(content());
  const changed = content();
  change(changed);
  expect(fingerprintOf(changed)).not.toBe(before);
});
