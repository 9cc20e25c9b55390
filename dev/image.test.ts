import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { afterAll, expect, test } from "vitest";
import { sharedLibraries, writeImage, writeImageIndex } from "./image.ts";

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

const indexName = "registry.test:5000/thing:1.2.3";

function indexSpec() {
  const { layers, entrypoint } = spec();
  const ofArm = join(folder, "program-arm64");
  writeFileSync(ofArm, "other content");
  const labels = { "org.opencontainers.image.version": "1.2.3" };
  const image = { layers, entrypoint, labels, created: new Date("2026-11-29T10:00:00.500Z") };
  const arm = {
    ...image,
    layers: [{ files: [{ from: ofArm, to: "/usr/bin/program", mode: 0o755 }] }, ...layers.slice(1)],
  };
  return {
    name: indexName,
    images: { arm64: arm, amd64: image },
    annotations: labels,
    attachments: (digest: string) => [{ type: "application/vnd.example+json", content: Buffer.from(`"${digest}"`) }],
  };
}

/** Index, manifests and blobs of an archive. */
async function layoutOf(file: string) {
  const entries = await entriesOf(readFileSync(file));
  const blob = (digest: string) => entries.get(`blobs/sha256/${digest.replace("sha256:", "")}`) ?? Buffer.alloc(0);
  const read = (digest: string) => JSON.parse(String(blob(digest)));
  const { manifests } = JSON.parse(String(entries.get("index.json")));
  return { names: [...entries.keys()], manifests, blob, read };
}

test("image index: the same content gives the same bytes", async () => {
  const [one, two] = [join(folder, "index-1.tar"), join(folder, "index-2.tar")];
  const digest = await writeImageIndex(one, indexSpec());
  utimesSync(program, 2, 2);
  expect(await writeImageIndex(two, indexSpec())).toBe(digest);
  expect(readFileSync(two).equals(readFileSync(one))).toBe(true);
});

test("image index: each architecture has its image, with compressed layers, labels and time", async () => {
  const file = join(folder, "index.tar");
  const digest = await writeImageIndex(file, indexSpec());
  const { manifests, blob, read } = await layoutOf(file);
  expect(manifests[0]).toMatchObject({
    mediaType: "application/vnd.oci.image.index.v1+json",
    digest,
    annotations: { "io.containerd.image.name": indexName, "org.opencontainers.image.ref.name": "1.2.3" },
  });
  const images = read(digest).manifests;
  expect(images.map((each: { platform: unknown }) => each.platform)).toEqual([
    { architecture: "amd64", os: "linux" },
    { architecture: "arm64", os: "linux" },
  ]);
  for (const [index, image] of images.entries()) {
    const { config, layers } = read(image.digest);
    const { architecture, created, config: settings, rootfs } = read(config.digest);
    expect(architecture).toBe(["amd64", "arm64"][index]);
    expect(created).toBe("2026-11-29T10:00:00Z");
    expect(settings.Labels).toEqual({ "org.opencontainers.image.version": "1.2.3" });
    expect(layers.map((layer: { mediaType: string }) => layer.mediaType)).toEqual([
      "application/vnd.oci.image.layer.v1.tar+gzip",
      "application/vnd.oci.image.layer.v1.tar+gzip",
    ]);
    const plain = layers.map((layer: { digest: string }) => gunzipSync(blob(layer.digest)));
    const sha256 = (content: Buffer) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
    expect(rootfs.diff_ids).toEqual(plain.map(sha256));
    expect(String((await entriesOf(plain[0])).get("usr/bin/program"))).toBe(["content", "other content"][index]);
  }
});

test("image index: documents are attached as referrers, and every blob has its digest as name", async () => {
  const file = join(folder, "index-3.tar");
  const digest = await writeImageIndex(file, indexSpec());
  const { names, manifests, blob, read } = await layoutOf(file);
  expect(manifests[1].artifactType).toBe("application/vnd.example+json");
  const { subject, artifactType, config, layers } = read(manifests[1].digest);
  expect(subject).toEqual({ mediaType: manifests[0].mediaType, digest, size: manifests[0].size });
  expect(artifactType).toBe("application/vnd.example+json");
  expect(String(blob(config.digest))).toBe("{}");
  expect(String(blob(layers[0].digest))).toBe(`"${digest}"`);
  for (const name of names.filter((each) => each.startsWith("blobs/")))
    expect(name).toBe(
      `blobs/sha256/${createHash("sha256")
        .update(blob(name.slice(13)))
        .digest("hex")}`,
    );
});

test.runIf(process.platform === "linux")("image: the libraries of a dynamically linked program are detected", () => {
  const libraries = sharedLibraries("/bin/sh").map((library) => library.to);
  expect(libraries.some((path) => path.includes("libc"))).toBe(true);
  expect(libraries.every((path) => path.startsWith("/"))).toBe(true);
});
