import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AGENT_BUNDLE, bundle, OPERATOR_BUNDLE, sourcesOf } from "./bundle.ts";
import { bundlePlugin } from "./plugin/bundle.ts";

const root = process.cwd();

function packagesOf(sources: readonly string[]): readonly string[] {
  const names = sources.flatMap((source) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
  return [...new Set(names)];
}

test("the operator's bundle contains no object store library, no schema, and only shared files of the agent", async () => {
  const sources = await sourcesOf(root, OPERATOR_BUNDLE);
  const shared = [
    "src/agent/task.ts",
    "src/agent/report.ts",
    "src/agent/failure.ts",
    "src/objectstore/location.ts",
    "src/objectstore/error.ts",
    "src/objectstore/key.ts",
  ];
  const strange = sources.filter((source) => /^src\/(?:agent|objectstore)\//.test(source) && !shared.includes(source));
  expect(strange).toEqual([]);
  expect(sources.filter((source) => source.endsWith("-schema.ts"))).toEqual([]);
  expect(packagesOf(sources).filter((name) => /^(?:zod|@aws-sdk|@smithy|@azure|google|@google)/.test(name))).toEqual(
    [],
  );
  expect(packagesOf(sources)).toContain("@connectrpc/connect");
});

test("the agent's bundle contains the object store libraries and no code of the operator", async () => {
  const sources = await sourcesOf(root, AGENT_BUNDLE);
  expect(sources.filter((source) => /^src\/(?:api|kube|runtime|cluster|peer|webhooks|backup)\//.test(source))).toEqual(
    [],
  );
  expect(packagesOf(sources)).toEqual(expect.arrayContaining(["@aws-sdk/client-s3", "zod"]));
});

test("a work tree elsewhere, with a link to the same packages, gives the same bytes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bundle-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const made = ["one", "further/away/two"].map(async (name) => {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    for (const link of ["src", "node_modules", "package.json", "tsconfig.json"])
      symlinkSync(join(root, link), join(own, link));
    const bundles = [await bundle(own, OPERATOR_BUNDLE), await bundle(own, AGENT_BUNDLE)];
    const files = [
      ...bundles.flatMap((each) => each.files.map(({ from }) => from)),
      (await bundlePlugin(own, "1.2.3")).file,
    ];
    return Object.fromEntries(
      files.map((file) => [basename(file), createHash("sha256").update(readFileSync(file)).digest("hex")]),
    );
  });
  const [one = {}, two] = await Promise.all(made);
  expect(Object.keys(one).length).toBeGreaterThan(3);
  expect(one).toEqual(two);
});
