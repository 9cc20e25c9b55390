import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { writeArchive } from "./archive.ts";
import { LAUNCHER } from "./build.ts";
import { bundlePlugin } from "./bundle.ts";
import { krewManifest } from "./krew.ts";
import { checkBuilder, NODE_VERSION, PLATFORMS } from "./platforms.ts";

const root = mkdtempSync(join(tmpdir(), "plugin-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("plugin: Node for Linux is that of package-lock.json", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  for (const { package: name, integrity } of PLATFORMS.filter(({ os }) => os === "linux"))
    expect(packages[`node_modules/${name}`]).toMatchObject({ version: NODE_VERSION, integrity });
});

test("plugin: the same entries in another order make the same archive", async () => {
  const entries = ["b", "a"].map((name) => ({ name, mode: 0o755, content: `text of ${name}` }));
  await writeArchive(join(root, "one.tar.gz"), entries);
  await writeArchive(join(root, "two.tar.gz"), entries.toReversed());
  expect(readFileSync(join(root, "one.tar.gz"))).toEqual(readFileSync(join(root, "two.tar.gz")));
  expect(execFileSync("tar", ["-tzf", join(root, "one.tar.gz")], { encoding: "utf8" })).toBe("a\nb\n");
});

test("plugin: an archive that cannot be finished leaves the earlier one, and no draft", async () => {
  const [folder, missing] = [join(root, "half"), join(root, "missing")];
  mkdirSync(folder);
  const out = join(folder, "a.tar.gz");
  writeFileSync(out, "earlier");
  const entries = [
    { name: "a", mode: 0o644, content: "a" },
    { name: "b", mode: 0o644, content: { file: missing } },
  ];
  expect(existsSync(missing)).toBe(false);
  await expect(writeArchive(out, entries)).rejects.toThrow("ENOENT");
  expect(readdirSync(folder)).toEqual(["a.tar.gz"]);
  expect(readFileSync(out, "utf8")).toBe("earlier");
});

test("plugin: another release of Node builds nothing", () => {
  checkBuilder(`v${NODE_VERSION}`);
  expect(() => checkBuilder("v24.1.0")).toThrow(
    `The plugin is built by Node ${NODE_VERSION}, and this is Node 24.1.0.`,
  );
});

test("plugin: Krew's manifest has a place for each platform", () => {
  const archives = PLATFORMS.map(({ os, arch }) => ({
    os,
    arch,
    name: `${os}.tgz`,
    sha256: "00",
    bin: "kubectl-etcd",
  }));
  const wish = { version: "0.2.0", homepage: "https://x.example", url: "https://x.example/0.2.0" };
  const { metadata, spec } = parse(krewManifest(wish, archives) ?? "");
  expect(metadata.name).toBe("etcd");
  expect(spec.version).toBe("v0.2.0");
  expect(spec.platforms).toHaveLength(PLATFORMS.length);
  expect(spec.platforms[0]).toEqual({
    selector: { matchLabels: { os: "linux", arch: "amd64" } },
    uri: "https://x.example/0.2.0/linux.tgz",
    sha256: "00",
    bin: "kubectl-etcd",
  });
  expect(krewManifest({ ...wish, url: undefined }, archives)).toBeUndefined();
  expect(krewManifest(wish, archives.slice(0, 1))).toBeUndefined();
});

test("plugin: the launcher starts the Node beside it, also through relative and absolute links", () => {
  const store = join(root, "store");
  mkdirSync(join(root, "bin"), { recursive: true });
  mkdirSync(store);
  writeFileSync(join(store, "kubectl-etcd"), LAUNCHER);
  writeFileSync(join(store, "node"), '#!/bin/sh\necho "$@"\n');
  for (const name of ["kubectl-etcd", "node"]) chmodSync(join(store, name), 0o755);
  symlinkSync("../store/kubectl-etcd", join(root, "bin", "relative"));
  symlinkSync(join(root, "bin", "relative"), join(root, "bin", "absolute"));
  for (const name of ["store/kubectl-etcd", "bin/relative", "bin/absolute"]) {
    const { stdout } = spawnSync(join(root, name), ["status", "a b"], { encoding: "utf8" });
    expect(stdout.trim()).toMatch(/kubectl-etcd\.mjs status a b$/);
  }
});

test("plugin: the bundle needs no packages, and knows its release", { timeout: 120_000 }, async () => {
  const { file } = await bundlePlugin(process.cwd(), "7.8.9");
  const copy = join(root, "alone.mjs");
  writeFileSync(copy, readFileSync(file));
  const help = spawnSync(process.execPath, [copy, "--help"], { encoding: "utf8", cwd: root });
  expect(help).toMatchObject({ status: 0, stderr: "" });
  expect(readFileSync(copy, "utf8")).toContain('"7.8.9"');
  const none = spawnSync(process.execPath, [copy, "status", "x", "--kubeconfig", join(root, "none")], {
    encoding: "utf8",
  });
  expect(none).toMatchObject({ status: 3, stderr: `${join(root, "none")} cannot be read: ENOENT\n` });
});
