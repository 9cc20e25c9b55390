import { expect, test } from "vitest";
import { askedIn, revisionOf } from "#api/revision.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { type Difference, differences } from "#kit/clients/differences.ts";
import { dryRun } from "#kit/clients/dry-run.ts";
import { exampleObjects } from "#kit/clients/examples.ts";
import { KIND_SCHEMAS, type Schema, specSchema } from "#kit/clients/kind-schemas.ts";
import { type Json, type Place, pathText, placesOf, without, withValue } from "#kit/clients/spec-places.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import type { KubeClient } from "#kube/client.ts";

// Clients in Go leave out zero values, and templates of Helm leave out empty maps. So an empty value is either refused
// with the field's name, or it has the meaning of an absent one.

/** Empty values with a meaning of their own, and those that stay in the spec and change nothing: why they may. */
const ACCEPTED: readonly (readonly [end: RegExp, because: string])[] = [
  [
    /[.](image|etcd|monitoring|metadata|podTemplate|proxy|securityContext|clientSecret|caConfigMap|bindingSecret)$/,
    "without values in it every default stays",
  ],
  [/[.](labels|annotations|extraArgs|limits|requests|matchLabels|nodeSelector|tags)$/, "an empty map adds nothing"],
  [
    /[.](pullSecrets|imagePullSecrets|tolerations|extraNames|matchExpressions|values|except)$/,
    "an empty list adds nothing",
  ],
  [
    /[.](clients|metrics)[.]from$/,
    "`policy` decides; `Listed` admits no other pod, whether the list is empty or absent",
  ],
  [/[.]podTemplate[.]spec([.](affinity|containers))?$/, "an empty value changes nothing in the operator's pod"],
  [/[.]replacement$/, "`policy` gets its default, which is the meaning of absence"],
  [/[.]tls$/, "the operator writes the same TLS into a new cluster without it"],
  [/[.](podSelector|namespaceSelector)$/, "as in a NetworkPolicy: an empty selector selects everything"],
  [/[.]storage[.](selector|storageClassName|volumeAttributesClassName)$/, "as in a PersistentVolumeClaim"],
  [/[.]failedBackupsHistoryLimit$/, "0 keeps none, as in a CronJob; clients in Go use a pointer for it there"],
  [/[.]archive$/, "its presence turns archives on, as that of emptyDir chooses a volume"],
  [/[.]securityContext[.](runAsGroup|fsGroup)$/, "0 is root's group, as in a Pod, where clients in Go use a pointer"],
  [/[.]proxy[.]noProxy$/, "an empty text names no host, and requests to some hosts never use a proxy"],
  [/[.](resources|etcdResources)$/, "without values in it the operator's own stay"],
  [/[.]tolerations\[0\][.]\w+$/, "as in a Pod, where clients in Go use a pointer for tolerationSeconds"],
];

let kube: KubeClient;

serveKinds(
  [...KIND_SCHEMAS.values()].map(({ resource }) => resource),
  ({ client }) => {
    kube = client;
  },
);

/** The empty value of a type; undefined for types that have none. */
function emptyOf({ type = "", items, "x-kubernetes-int-or-string": isEither }: Schema): unknown {
  if (isEither === true) return undefined;
  if (items !== undefined) return [];
  return { object: {}, string: "", integer: 0, number: 0, boolean: false }[type];
}

/** A place with the differences between an empty and an absent value, or with a refusal that does not name it. */
interface Change {
  readonly path: string;
  readonly by: readonly Difference[] | string;
}

/** What an empty value changes against an absent one. */
async function changesBy(kind: string, { path, within }: Place, empty: unknown): Promise<readonly Change[]> {
  const given = await dryRun(kube, kind, withValue(within, path, empty));
  const at = pathText(path);
  if (typeof given === "string") return given.includes(at) ? [] : [{ path: at, by: given }];
  const absent = await dryRun(kube, kind, without(within, path));
  if (typeof absent === "string") return []; // a client that leaves it out is refused
  if (kind === "EtcdCluster") expect(templateOf(given), `${at} restarts members`).toBe(templateOf(absent));
  const by = differences(absent, given, specSchema(kind), "spec");
  return by.length === 0 ? [] : [{ path: at, by }];
}

/** Revision of the members' template. A different one restarts every member. */
function templateOf(spec: Json): string {
  return revisionOf(askedIn(spec as unknown as EtcdClusterSpec, undefined));
}

const examples = new Map(exampleObjects().map(({ object: { kind, spec } }) => [kind, spec]));
const all: Change[] = [];

test.each([...examples.keys()])(
  "an empty value in an %s is refused, or means the same as an absent one",
  async (kind) => {
    const isTaken = async (spec: Json) => typeof (await dryRun(kube, kind, spec)) !== "string";
    const { places, unreached } = await placesOf(specSchema(kind), examples.get(kind) ?? {}, isTaken);
    expect(unreached).toEqual([]);
    const found: Change[] = [];
    for (const place of places.filter(({ isRequired }) => !isRequired)) {
      const empty = emptyOf(place.schema);
      if (empty !== undefined) found.push(...(await changesBy(kind, place, empty)));
    }
    all.push(...found);
    const isAccepted = ({ path, by }: Change) => typeof by !== "string" && ACCEPTED.some(([end]) => end.test(path));
    expect(found.filter((each) => !isAccepted(each))).toEqual([]);
  },
);

test("every accepted change occurs", () => {
  const paths = all.map(({ path }) => path);
  for (const [end, because] of ACCEPTED)
    expect(paths, `${because}: nothing matches`).toContainEqual(expect.stringMatching(end));
});
