import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { askedIn, revisionOf } from "#api/revision.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { type Difference, differences } from "#kit/clients/differences.ts";
import { dryRun } from "#kit/clients/dry-run.ts";
import { exampleObjects, ownObjects, type WrittenObject } from "#kit/clients/examples.ts";
import type { OmitEmpty } from "#kit/clients/go-types.ts";
import { KIND_SCHEMAS, resourceOf, specSchema } from "#kit/clients/kind-schemas.ts";
import { type Json, placesOf } from "#kit/clients/spec-places.ts";
import { roundTrips } from "#kit/clients/typed-client.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import { generatedSpecs } from "#kit/tables/generated-specs.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

// A Go program with structs for our kinds reads an object and writes it back. The API server must accept it, and its
// meaning must be the same.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "default";
/** Number of generated specs. Each takes four requests to the API server. */
const RUNS = Number(process.env.GENERATED_SPECS ?? 150);
const SEED = Number(process.env.GENERATED_SPECS_SEED ?? 4711);

/** Changes by a Go client that change no meaning: an end of the path, and the reason. */
const HARMLESS: readonly (readonly [end: RegExp, because: string])[] = [
  [/[.](labels|annotations|extraArgs)$/, "an empty map adds nothing to what the operator sets"],
  [/[.](pullSecrets|extraNames)$/, "an empty list adds nothing to what the operator sets"],
  [
    /[.](clients|metrics)[.]from$/,
    "`policy` decides; `Listed` admits no other pod, whether the list is empty or absent",
  ],
  [
    /[.]podTemplate[.]spec[.]/,
    "Kubernetes' own types write other empty values; the members' template is compared, too",
  ],
];

/** Refusals of what a Go client writes, with the reason why they may be. */
const REFUSED: readonly (readonly [message: RegExp, because: string])[] = [
  [
    / spec cannot be changed after creation; make another EtcdRestore/,
    "the whole spec is compared as written; a client that only patches metadata is not refused",
  ],
  [
    /it must be a duration from \w+ to \w+ in whole numbers/,
    "Go writes 1500ms as 1.5s; those of the Gateway API have no fractions",
  ],
];

let kube: KubeClient;

serveKinds(
  [...KIND_SCHEMAS.values()].map(({ resource }) => resource),
  ({ client }) => {
    kube = client;
  },
);

interface Stored extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
}

let count = 0;

/** The object as the API server stores it, under a name of its own. */
async function created({ kind, spec }: Pick<WrittenObject, "kind" | "spec">): Promise<Stored> {
  const { group, version } = resourceOf(kind);
  const draft = { apiVersion: `${group}/${version}`, kind, metadata: { namespace, name: `c-${count++}` }, spec };
  return (await kube.create(resourceOf(kind), draft as Draft<KubeObject>, OPTIONS)) as Stored;
}

/** A difference as a line of text, or why there is none to compare. */
type Change = Difference | string;

/** What a Go client changes by reading the objects and writing them back. */
async function changes(objects: readonly Pick<WrittenObject, "kind" | "spec">[], omitEmpty: OmitEmpty) {
  const stored: Stored[] = [];
  for (const each of objects) stored.push(await created(each));
  const results = await roundTrips(stored, omitEmpty);
  expect(results).toHaveLength(stored.length);
  const found: Change[] = [];
  for (const [n, before] of stored.entries()) {
    const result = results[n]!;
    if ("error" in result) found.push(`the Go client cannot read ${told(before)}: ${result.error}`);
    else found.push(...(await written(before, result.object as Stored)));
  }
  return found;
}

async function written(before: Stored, encoded: Stored): Promise<readonly Change[]> {
  try {
    const after = (await kube.replace(resourceOf(before.kind), encoded as Draft<KubeObject>, OPTIONS)) as Stored;
    const found = differences(before.spec, after.spec, specSchema(before.kind), ".spec");
    const restarts = before.kind === "EtcdCluster" && templateOf(before) !== templateOf(after);
    return restarts ? [...found, `the members of ${told(before)} restart after ${JSON.stringify(found)}`] : found;
  } catch (thrown) {
    return [`${String(thrown)}, for ${told(before)}`];
  }
}

/** Revision of the members' template. A different one restarts every member. */
function templateOf({ spec }: Stored): string {
  return revisionOf(askedIn(spec as unknown as EtcdClusterSpec, undefined));
}

function told({ kind, spec }: Stored): string {
  return `${kind} ${JSON.stringify(spec).slice(0, 1_000)}`;
}

/** Changes without the accepted ones. */
function unexpected(found: readonly Change[]): readonly Change[] {
  return found.filter((each) =>
    typeof each === "string"
      ? !REFUSED.some(([message]) => message.test(each))
      : !HARMLESS.some(([end]) => end.test(each.path)),
  );
}

const examples = [...exampleObjects().map(({ object }) => object), ...ownObjects()];
const generated = fc
  .sample(generatedSpecs, { numRuns: RUNS, seed: SEED })
  .filter(({ wrong }) => wrong === undefined)
  .map(({ spec }) => ({ kind: "EtcdCluster", spec }));

test("the objects have every kind", () => {
  expect(new Set(examples.map(({ kind }) => kind))).toEqual(new Set(KIND_SCHEMAS.keys()));
  expect(generated.length).toBeGreaterThan(RUNS / 3);
});

describe("a Go client that reads an object and writes it back changes no meaning", {
  timeout: 60_000 + RUNS * 2_000,
}, () => {
  test("of an example", async () => {
    expect(unexpected(await changes(examples, "required"))).toEqual([]);
  });

  test.each([...new Set(exampleObjects().map(({ object }) => object.kind))])(
    "of an %s with each optional object",
    async (kind) => {
      const first = examples.find((each) => each.kind === kind)?.spec ?? {};
      const isTaken = async (spec: Json) => typeof (await dryRun(kube, kind, spec)) !== "string";
      const { places } = await placesOf(specSchema(kind), first, isTaken);
      const specs = new Set(places.map(({ within }) => within));
      const found = await changes(
        [...specs].map((spec) => ({ kind, spec })),
        "required",
      );
      expect(unexpected(found)).toEqual([]);
    },
  );

  test(`of ${generated.length} generated specs, and every accepted change occurs`, async () => {
    const found = await changes(generated, "required");
    expect(unexpected(found)).toEqual([]);
    const paths = found.flatMap((each) => (typeof each === "string" ? [] : each.path));
    for (const [end, because] of RUNS < 150 ? [] : HARMLESS)
      expect(paths, `no Go client changes ${end}, which was accepted: ${because}`).toContainEqual(
        expect.stringMatching(end),
      );
  });

  test("or is refused with the missing field, when it leaves out required fields that are zero", async () => {
    const found = await changes([...examples, ...generated], "everywhere");
    const missing = unexpected(found).filter((each) => !/\bspec[.\w[\]]+: Required value/.test(String(each)));
    expect(missing).toEqual([]);
  });
});
