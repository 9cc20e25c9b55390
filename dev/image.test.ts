import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { extract } from "tar-stream";
import { afterAll, expect, test } from "vitest";
import { sharedLibraries, writeImage } from "./image.ts";

const folder = mkdtempSync(join(tmpdir(), "image-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const program = join(folder, "program");
writeFileSync(program, "content");

function spec(mode = 0o755) {
  return {
    name: "example.test/thing:v1",
    layers: [
      { files: [{ from: program, to: "/usr/bin/program", mode }] },
      { files: [{ from: program, to: "/a/b", mode: 0o644 }] },
    ],
    entrypoint: ["/usr/bin/program"],
    user: "65532:65532",
  };
}

async function entriesOf(archive: Buffer): Promise<Map<string, Buffer>> {
  const entries = new Map<string, Buffer>();
  const reader = extract();
  reader.end(archive);
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    entries.set(entry.header.name, Buffer.concat(chunks));
  }
  return entries;
}

test("image: the same content gives the same bytes, independent of file times", async () => {
  const [one, two] = [join(folder, "one.tar"), join(folder, "two.tar")];
  const first = await writeImage(one, spec());
  utimesSync(program, 1, 1);
  expect(await writeImage(two, spec())).toBe(first);
  expect(readFileSync(two).equals(readFileSync(one))).toBe(true);
});

test("image: a changed permission changes the digest", async () => {
  const digests = [
    await writeImage(join(folder, "a.tar"), spec()),
    await writeImage(join(folder, "b.tar"), spec(0o700)),
  ];
  expect(digests[0]).not.toBe(digests[1]);
});

test("image: every blob is named by its digest, and all are referenced from the index", async () => {
  const file = join(folder, "whole.tar");
  const digest = await writeImage(file, spec());
  const entries = await entriesOf(readFileSync(file));
  const blob = (name: string) => entries.get(`blobs/sha256/${name.replace("sha256:", "")}`) ?? Buffer.alloc(0);
  for (const [name, content] of entries) {
    if (!name.startsWith("blobs/")) continue;
    expect(name).toBe(`blobs/sha256/${createHash("sha256").update(content).digest("hex")}`);
  }
  const index = JSON.parse(String(entries.get("index.json")));
  expect(index.manifests[0].digest).toBe(digest);
  expect(index.manifests[0].annotations["io.containerd.image.name"]).toBe("example.test/thing:v1");
  const manifest = JSON.parse(String(blob(digest)));
  expect(manifest.layers).toHaveLength(2);
  const config = JSON.parse(String(blob(manifest.config.digest)));
  expect(config.config.User).toBe("65532:65532");
  const layer = await entriesOf(blob(manifest.layers[0].digest));
  expect([...layer.keys()]).toEqual(["usr/", "usr/bin/", "tmp/", "usr/bin/program"]);
});

test.runIf(process.platform === "linux")("image: the libraries of a dynamically linked program are detected", () => {
  const libraries = sharedLibraries("/bin/sh").map((library) => library.to);
  expect(libraries.some((path) => path.includes("libc"))).toBe(true);
  expect(libraries.every((path) => path.startsWith("/"))).toBe(true);
});
