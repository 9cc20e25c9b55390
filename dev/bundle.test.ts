import { expect, test } from "vitest";
import { AGENT_BUNDLE, OPERATOR_BUNDLE, sourcesOf } from "./bundle.ts";

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
