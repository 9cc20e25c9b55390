import fc from "fast-check";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mergePodTemplate, type PartialPodTemplate } from "#api/pod-template/merge.ts";
import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { type ApiServer, startApiServer } from "#kit/apiserver.ts";
import { peer } from "#kit/peer.ts";
import { kubeconfigFile } from "#kube/config.ts";
import { podTemplate } from "#peer/desired/pod.ts";

// The API server merges a patch into a pod template, and so does the operator: both come to the same.

let server: ApiServer;
let agent: Agent;
let headers: Record<string, string>;

const COLLECTION = "/api/v1/namespaces/default/podtemplates";
const STORED = "ours";
/** Two questions each. */
const RUNS = 200;
/** Of a pod of ours, what is there for who says nothing else: it is no part of what is merged. */
const { topologySpreadConstraints: _, ...spec } = podTemplate(peer()).spec;
const OURS = { ...podTemplate(peer()), spec };

beforeAll(async () => {
  server = await startApiServer();
  const { tls, token } = await (await kubeconfigFile(server.kubeconfig)).credentials(false);
  agent = new Agent({ connect: { ca: tls.ca ?? "" } });
  headers = { authorization: `Bearer ${token}` };
  await ask("POST", COLLECTION, podTemplateObject(STORED, OURS));
});
afterAll(async () => {
  await agent?.destroy();
  await server?.stop();
});

interface Answer {
  readonly status: number;
  readonly body: { readonly template?: PodTemplate; readonly message?: string };
}

type PodTemplate = typeof OURS;

async function ask(method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<Answer> {
  const type = method === "PATCH" ? "application/strategic-merge-patch+json" : "application/json";
  const answer = await request(`${server.url}${path}`, {
    method,
    dispatcher: agent,
    headers: { ...headers, "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: (await answer.body.json()) as Answer["body"] };
}

function podTemplateObject(name: string, template: object) {
  return { apiVersion: "v1", kind: "PodTemplate", metadata: { name }, template };
}

/** What the API server makes of ours with this patch. */
async function patched(template: PartialPodTemplate): Promise<Answer> {
  return await ask("PATCH", `${COLLECTION}/${STORED}?dryRun=All`, { template });
}

/** What we make of it, as the API server completes it with its defaults. */
async function merged(template: PartialPodTemplate): Promise<Answer> {
  return await ask("POST", `${COLLECTION}?dryRun=All`, podTemplateObject("merged", mergePodTemplate(OURS, template)));
}

/** The same for every order of the items that have a merge key. */
function inOrder(value: unknown, path = ""): unknown {
  if (Array.isArray(value)) {
    const key = MERGE_KEYS[path];
    const items = value.map((each) => inOrder(each, path)) as Record<string, unknown>[];
    return key === undefined ? items : items.sort((a, b) => String(a[key]).localeCompare(String(b[key])));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, each]) => [field, inOrder(each, path === "" ? field : `${path}.${field}`)]),
  );
}

async function expectSame(template: PartialPodTemplate): Promise<Answer> {
  const [theirs, ours] = [await patched(template), await merged(template)];
  expect(isTaken(ours), JSON.stringify([theirs.body.message, ours.body.message])).toBe(isTaken(theirs));
  expect(inOrder(ours.body.template)).toEqual(inOrder(theirs.body.template));
  return ours;
}

function isTaken({ status }: Answer): boolean {
  return status < 300;
}

test("the API server's own description of a pod template has these merge keys and no others", async () => {
  const { body } = await ask("GET", "/openapi/v2");
  const { keys, scalars } = mergedLists((body as unknown as OpenApi).definitions);
  expect(MERGE_KEYS).toEqual(keys);
  // Merging these would need more than a key; of ours no volume has any, and metadata of a pod template are labels and annotations.
  expect(scalars).toEqual(["metadata.finalizers", "spec.volumes.ephemeral.volumeClaimTemplate.metadata.finalizers"]);
});

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly "x-kubernetes-patch-merge-key"?: string;
  readonly "x-kubernetes-patch-strategy"?: string;
}
interface OpenApi {
  readonly definitions: Readonly<Record<string, Schema>>;
}

function mergedLists(definitions: OpenApi["definitions"]) {
  const keys: Record<string, string> = {};
  const scalars: string[] = [];
  const look = ({ $ref, items, additionalProperties, properties, ...schema }: Schema, path: string): void => {
    const key = schema["x-kubernetes-patch-merge-key"];
    if (key !== undefined) keys[path] = key;
    else if (schema["x-kubernetes-patch-strategy"] !== undefined) scalars.push(path);
    for (const each of [items, additionalProperties]) if (each !== undefined) look(each, path);
    if ($ref !== undefined) look(definitions[$ref.replace("#/definitions/", "")]!, path);
    for (const [field, each] of Object.entries(properties ?? {})) look(each, path === "" ? field : `${path}.${field}`);
  };
  look(definitions["io.k8s.api.core.v1.PodTemplateSpec"]!, "");
  return { keys, scalars: scalars.sort() };
}

function container(part: object): PartialPodTemplate {
  return { spec: { containers: [{ name: "etcd", ...part }] } };
}

const taken: (readonly [name: string, template: PartialPodTemplate])[] = [
  ["nothing", {}],
  ["nothing in particular", { metadata: {}, spec: {} }],
  ["labels and annotations", { metadata: { labels: { team: "shop" }, annotations: { "example.com/scrape": "true" } } }],
  [
    "a sidecar, resources, tolerations and a priority",
    {
      spec: {
        priorityClassName: "important",
        tolerations: [{ key: "dedicated", operator: "Exists" }],
        containers: [
          { name: "etcd", resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { memory: "1Gi" } } },
          { name: "log-shipper", image: "registry.example/shipper:1", env: [{ name: "TO", value: "$(HOST)" }] },
        ],
      },
    },
  ],
  ["another user for all", { spec: { securityContext: { runAsUser: 1000, supplementalGroups: [1, 2] } } }],
  ["no user at all", { spec: { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } } }],
  ["no security context", { spec: { securityContext: null } }],
  ["one more capability", container({ securityContext: { capabilities: { add: ["NET_BIND_SERVICE"] } } })],
  ["a capability list that is replaced", container({ securityContext: { capabilities: { drop: ["NET_RAW"] } } })],
  [
    "a variable, and another value for one",
    container({
      env: [
        { name: "TZ", value: "UTC" },
        { name: "ETCD_NAME", value: "x" },
      ],
    }),
  ],
  [
    "a port, and another name for one",
    container({
      ports: [
        { containerPort: 9, name: "x" },
        { containerPort: 2379, name: "y" },
      ],
    }),
  ],
  ["the same port for another protocol", container({ ports: [{ containerPort: 2379, protocol: "UDP" }] })],
  ["other times of a probe", container({ livenessProbe: { failureThreshold: 3 } })],
  ["no probe", container({ startupProbe: null })],
  ["a command that is replaced", container({ command: ["sh", "-c", "etcd"] })],
  [
    "another variable under no condition",
    container({ env: [{ name: "ETCD_INITIAL_CLUSTER", valueFrom: null, value: "x" }] }),
  ],
  [
    "a name of one's own for this host",
    {
      spec: {
        hostAliases: [
          { ip: "127.0.0.1", hostnames: ["me"] },
          { ip: "::1", hostnames: ["six"] },
        ],
      },
    },
  ],
  [
    "a volume and where it is mounted, twice",
    {
      spec: {
        volumes: [{ name: "scratch", emptyDir: { medium: "Memory", sizeLimit: null } }],
        containers: [
          {
            name: "etcd",
            volumeMounts: [
              { name: "scratch", mountPath: "/tmp" },
              { name: "scratch", mountPath: "/run" },
            ],
          },
        ],
        initContainers: [{ name: "prepare", image: "busybox", volumeMounts: [{ name: "scratch", mountPath: "/tmp" }] }],
      },
    },
  ],
  [
    "the same variable twice, once for all",
    container({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    }),
  ],
  [
    "null for what is not there",
    { metadata: { labels: { a: null as never } }, spec: { nodeSelector: null, dnsConfig: { options: null } } },
  ],
  ["null for what is ours", { metadata: { annotations: { "etcd.improbable.io/revision": null as never } } }],
  [
    "null inside of what is new",
    { spec: { dnsConfig: { nameservers: null, options: [{ name: "ndots", value: null }] } } },
  ],
  ["a label that every object has", { metadata: { labels: { constructor: "x", toString: "y" } } }],
  [
    "an affinity",
    {
      spec: {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname" }],
          },
        },
      },
    },
  ],
];

describe("what the API server makes of our template and a patch is what we make of them", () => {
  for (const [name, template] of taken) {
    test(name, async () => expect(isTaken(await expectSame(template))).toBe(true));
  }
});

const refused: typeof taken = [
  ["a second source of a volume", { spec: { volumes: [{ name: "etcd-data", emptyDir: {} }] } }],
  ["a second handler of a probe", container({ readinessProbe: { exec: { command: ["true"] } } })],
  [
    "a second source of a variable",
    container({ env: [{ name: "ETCD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] }),
  ],
  ["a sidecar without an image", { spec: { containers: [{ name: "sidecar" }] } }],
  ["a container without a name", { spec: { containers: [{ image: "busybox" }] } }],
  ["a word for a list", { spec: { containers: "etcd" } }],
  ["no container", { spec: { containers: null } }],
  ["no spec", { spec: null as never }],
];

describe("what the API server refuses of a patch, it refuses of what we make of it", () => {
  for (const [name, template] of refused) {
    test(name, async () => expect(isTaken(await expectSame(template))).toBe(false));
  }
});

test("what is new comes behind ours, and the API server puts it before: the one difference, on purpose", async () => {
  const sidecar = { spec: { containers: [{ name: "shipper", image: "busybox" }] } };
  const names = ({ body }: Answer) => body.template?.spec.containers.map(({ name }) => name);
  expect(names(await patched(sidecar))).toEqual(["shipper", "etcd"]);
  expect(names(await merged(sidecar))).toEqual(["etcd", "shipper"]);
});

// Any wishes: values and lists from small pools, so that they often meet what is ours, with null here and there.

/** A map with some of these fields. */
function some(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  const orNull = Object.entries(fields).map(([field, value]) => [
    field,
    fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) }),
  ]);
  return fc.record(Object.fromEntries(orNull), { requiredKeys: [] });
}

/** Up to three items: the key and a part of the rest. */
function items(key: string, of: readonly (string | number)[], rest: Record<string, fc.Arbitrary<unknown>>) {
  const item = fc.tuple(fc.constantFrom(...of), some(rest)).map(([value, more]) => ({ [key]: value, ...more }));
  return fc.uniqueArray(item, { maxLength: 3, selector: (each) => (each as Record<string, unknown>)[key] });
}

const word = fc.constantFrom("a", "b", "c");
const words = fc.array(word, { maxLength: 2 });
const count = fc.integer({ min: 1, max: 100 });
const capabilities = some({ add: words, drop: words });
const probe = some({ periodSeconds: count, failureThreshold: count, httpGet: some({ path: word }) });
const etcd = some({
  args: words,
  env: items("name", ["ETCD_NAME", "ETCD_DATA_DIR", "A", "B"], { value: word }),
  livenessProbe: probe,
  ports: items("containerPort", [2379, 2380, 9000], {
    hostPort: fc.constant(9000),
    protocol: fc.constantFrom("TCP", "UDP"),
  }),
  resources: some({ limits: some({ cpu: count, memory: fc.constant("1Gi") }) }),
  securityContext: some({ readOnlyRootFilesystem: fc.boolean(), runAsUser: count, capabilities }),
  volumeMounts: items("mountPath", ["/var/lib/etcd", "/a"], { name: fc.constant("etcd-data"), readOnly: fc.boolean() }),
});
const sidecar = fc.record({ name: word, image: word, command: words });
const wishes = fc.record({
  metadata: some({ labels: some({ a: word, "app.kubernetes.io/name": word }), annotations: some({ a: word }) }),
  spec: fc
    .tuple(
      etcd,
      fc.uniqueArray(sidecar, { maxLength: 2, selector: ({ name }) => name }),
      some({
        dnsConfig: some({ nameservers: fc.constant(["10.0.0.1"]), searches: words }),
        hostAliases: items("ip", ["127.0.0.1", "10.0.0.1"], { hostnames: words }),
        imagePullSecrets: items("name", ["a", "b"], {}),
        nodeSelector: some({ a: word, b: word }),
        schedulingGates: items("name", ["a.b/c", "a.b/d"], {}),
        securityContext: some({
          runAsUser: count,
          fsGroup: count,
          seccompProfile: some({ type: fc.constant("Unconfined") }),
        }),
        terminationGracePeriodSeconds: count,
        tolerations: fc.array(some({ key: word, operator: fc.constant("Exists") }), { maxLength: 2 }),
        volumes: items("name", ["etcd-data", "x"], { emptyDir: some({ medium: fc.constant("Memory") }) }),
      }),
    )
    .map(([part, sidecars, rest]) => ({ ...rest, containers: [...sidecars, { name: "etcd", ...part }] })),
});

test("any patch: the API server and the operator come to the same", { timeout: 120_000 }, async () => {
  let isTakenOften = 0;
  const property = fc.asyncProperty(wishes, async (template) => {
    if (isTaken(await expectSame(template as PartialPodTemplate))) isTakenOften++;
  });
  await fc.assert(property, { numRuns: RUNS });
  expect(isTakenOften).toBeGreaterThan(RUNS / 10);
});
