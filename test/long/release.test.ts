import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { krewManifest } from "#dev/plugin/krew.ts";
import { PLATFORMS } from "#dev/plugin/platforms.ts";
import { run } from "#dev/run.ts";
import { eventually, kubectl, testNamespace } from "#kit/e2e/e2e.ts";
import { installByKrew } from "#kit/servers/krew.ts";
import { type Registry, referrersOf, startRegistry } from "#kit/servers/registry.ts";
import { makeRelease } from "#kit/servers/release.ts";
import { removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";

// A release is made, pushed to a registry on loopback, and its image pulled from there by digest.

const VERSION = "0.0.1-test";

let registry: Registry;
let folder: string;
let repository: string;

beforeAll(async () => {
  registry = await startRegistry();
  folder = join(temporaryDir("release"), "release");
  repository = `${registry.host}/etcd-cluster-operator`;
  await makeRelease(VERSION, repository, folder);
  const from = join(folder, `etcd-cluster-operator-${VERSION}-image.tar`);
  const to = `${repository}:${VERSION}`;
  await registry.oras("cp", "--recursive", "--to-plain-http", "--from-oci-layout", `${from}:${VERSION}`, to);
});
afterAll(async () => {
  await registry?.stop();
  removeTemporaryDirs();
});

function digest(): string {
  return readFileSync(join(folder, "image-digest.txt"), "utf8").trim();
}

test("every file has its checksum", async () => {
  const { stdout } = await run("env", ["-C", folder, "sha256sum", "--check", "SHA256SUMS"]);
  expect(stdout).toContain("operator.yaml: OK");
  expect(stdout).toContain(`plugin/kubectl-etcd_${VERSION}_linux_amd64.tar.gz: OK`);
});

test("kustomize gives the objects of operator.yaml, and components change them", async () => {
  const objects = (yaml: string) => parseAllDocuments(yaml).map((each) => JSON.stringify(sorted(each.toJS())));
  const own = readFileSync(join(folder, "operator.yaml"), "utf8");
  const { stdout } = await kubectl.run(["kustomize", join(folder, "kustomize")]);
  expect(objects(stdout).sort()).toEqual(objects(own).sort());
  const overlay = await kubectl.run(["kustomize", overlayOf("shards", "secrets-of")]);
  expect(overlay.stdout).toContain("- --shards=2");
  expect(stdout).toContain("kind: ClusterRoleBinding\nmetadata:\n  labels:\n    app.kubernetes.io/name");
  const bindings = (yaml: string) =>
    objects(yaml).filter((each) => each.includes('"kind":"ClusterRoleBinding"') && each.includes("operator-tls"));
  expect([bindings(stdout).length, bindings(overlay.stdout).length]).toEqual([1, 0]);
});

/** Kustomization of a user with components. @returns its folder */
function overlayOf(...components: readonly string[]): string {
  const own = join(folder, "..");
  writeFileSync(
    join(own, "kustomization.yaml"),
    JSON.stringify({
      resources: ["release/kustomize"],
      components: components.map((each) => `release/kustomize/components/${each}`),
    }),
  );
  return own;
}

/** A value with its keys in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([key, each]) => [key, sorted(each)] as const);
  return Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test("Krew installs the archive by the manifest of a release, without a network", async () => {
  const archive = (os: string, arch: string, sha256: string) => ({
    ...{ os, arch, sha256, bin: "kubectl-etcd" },
    name: `kubectl-etcd_${VERSION}_${os}_${arch}.tar.gz`,
  });
  const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
  const archives = PLATFORMS.map(({ os, arch }) => {
    const [sha256 = "0".repeat(64)] = sums.split("\n").filter((line) => line.endsWith(`_${os}_${arch}.tar.gz`));
    return archive(os, arch, sha256.slice(0, 64));
  });
  const wish = { version: VERSION, homepage: "https://forge.example/x", url: "https://downloads.example" };
  const file = join(folder, "plugin", archive("linux", "amd64", "").name);
  const bin = await installByKrew(krewManifest(wish, archives) ?? "", file, join(temporaryDir("krew"), "krew"));
  const { stdout } = await run(join(bin, "kubectl-etcd"), ["version"], { mayFail: true });
  expect(stdout).toMatch(new RegExp(`^plugin +${VERSION}\n`));
});

test("SBOMs and provenance are attached to the image", async () => {
  const types = (await referrersOf(registry, "etcd-cluster-operator", digest())).map((each) => each.artifactType);
  expect(types.toSorted()).toEqual([
    "application/spdx+json",
    "application/vnd.cyclonedx+json",
    "application/vnd.in-toto+json",
  ]);
});

test("the nodes' containerd pulls the image by digest, and the operator starts from it", async () => {
  await using namespace = await testNamespace("release");
  const image = `${repository}@${digest()}`;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "operator" },
    spec: {
      restartPolicy: "Never",
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name: "operator",
          image,
          args: ["--help"],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
  const within = ["-n", namespace.name];
  await kubectl.run([...within, "apply", "-f", "-"], { input: JSON.stringify(pod) });
  await eventually(async () => {
    const { status } = await kubectl.json<{ status: { phase: string } }>([...within, "get", "pod", "operator"]);
    expect(status.phase).toBe("Succeeded");
  });
  const { stdout } = await kubectl.run([...within, "logs", "operator"]);
  expect(stdout).toContain("--shards N");
});
