import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeImageIndex } from "#dev/image.ts";
import { type Registry, referrersOf, startRegistry } from "#kit/servers/registry.ts";
import { removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";

// The archive of an image is pushed to a real registry by the command of docs/releasing.md.

const REPOSITORY = "team/operator";
const ATTACHED = { type: "application/vnd.example+json", content: Buffer.from('{"packages":[]}') };

let registry: Registry;
let digest: string;

beforeAll(async () => {
  registry = await startRegistry();
  const folder = temporaryDir("image-registry");
  const image = (text: string) => {
    const from = join(folder, text);
    writeFileSync(from, text);
    return { layers: [{ files: [{ from, to: "/program", mode: 0o755 }] }], entrypoint: ["/program"] };
  };
  const archive = join(folder, "image.tar");
  digest = await writeImageIndex(archive, {
    name: `${registry.host}/${REPOSITORY}:1.2.3`,
    images: { amd64: image("for amd64"), arm64: image("for arm64") },
    annotations: {},
    attachments: () => [ATTACHED],
  });
  const to = `${registry.host}/${REPOSITORY}:1.2.3`;
  await registry.oras("cp", "--recursive", "--to-plain-http", "--from-oci-layout", `${archive}:1.2.3`, to);
});
afterAll(async () => {
  await registry?.stop();
  removeTemporaryDirs();
});

/** Content with its digest checked. */
async function blob(path: "blobs" | "manifests", wanted: string): Promise<Buffer> {
  const content = await registry.read(`${REPOSITORY}/${path}/${wanted}`);
  expect(`sha256:${createHash("sha256").update(content).digest("hex")}`).toBe(wanted);
  return content;
}

test("the pushed index has its digest, and all content of both architectures", async () => {
  const index = JSON.parse(String(await blob("manifests", digest)));
  expect(await registry.read(`${REPOSITORY}/manifests/1.2.3`)).toEqual(await blob("manifests", digest));
  const architectures: string[] = [];
  for (const image of index.manifests) {
    architectures.push(image.platform.architecture);
    const { config, layers } = JSON.parse(String(await blob("manifests", image.digest)));
    const { architecture } = JSON.parse(String(await blob("blobs", config.digest)));
    expect(architecture).toBe(image.platform.architecture);
    for (const layer of layers) await blob("blobs", layer.digest);
  }
  expect(architectures).toEqual(["amd64", "arm64"]);
});

test("the registry lists what is attached to the image", async () => {
  const [found, ...others] = await referrersOf(registry, REPOSITORY, digest);
  expect(others).toEqual([]);
  expect(found?.artifactType).toBe(ATTACHED.type);
  expect(found?.subject.digest).toBe(digest);
  expect(await blob("blobs", found?.layers[0]?.digest ?? "")).toEqual(ATTACHED.content);
});
