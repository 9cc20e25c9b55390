import fc from "fast-check";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mergePodTemplate, type PartialPodTemplate } from "#api/pod-template/merge.ts";
import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { kubeconfigFile } from "#kube/config.ts";
import { podTemplate } from "#peer/desired/pod.ts";

// The API server and the operator merge a patch into a pod template with the same result.

let server: ApiServer;
let agent: Agent;
let headers: Record<string, string>;

const COLLECTION = "/api/v1/namespaces/default/podtemplates";
const STORED = "ours";
/** Number of random patches, with two requests each. */
const RUNS = 200;
/** Topology spread constraints are only a default: they are not part of what is merged. */
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

/** The API server's result of the patch. */
async function patched(template: PartialPodTemplate): Promise<Answer> {
  return await ask("PATCH", `${COLLECTION}/${STORED}?dryRun=All`, { template });
}

/** The operator's result of the patch, completed with the API server's defaults. */
async function merged(template: PartialPodTemplate): Promise<Answer> {
  return await ask("POST", `${COLLECTION}?dryRun=All`, podTemplateObject("merged", mergePodTemplate(OURS, template)));
}

/** Sorts items that have a merge key, so that their order does not matter. */
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

test("the merge keys in the API server's OpenAPI description are those that the operator uses", async () => {
  const { body } = await ask("GET", "/openapi/v2");
  const { keys, scalars } = mergedLists((body as unknown as OpenApi).definitions);
  expect(MERGE_KEYS).toEqual(keys);
  // A merge key is not enough for these lists. No volume of the operator has them, and a template has no finalizers.
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
  ["an empty patch", { metadata: {}, spec: {} }],
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
  [
    "a different user for all containers",
    { spec: { securityContext: { runAsUser: 1000, supplementalGroups: [1, 2] } } },
  ],
  ["no user", { spec: { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } } }],
  ["no security context", { spec: { securityContext: null } }],
  ["an additional capability", container({ securityContext: { capabilities: { add: ["NET_BIND_SERVICE"] } } })],
  ["a capability list that is replaced", container({ securityContext: { capabilities: { drop: ["NET_RAW"] } } })],
  [
    "a new variable, and a new value of one",
    container({
      env: [
        { name: "TZ", value: "UTC" },
        { name: "ETCD_NAME", value: "x" },
      ],
    }),
  ],
  [
    "a new port, and a new name of one",
    container({
      ports: [
        { containerPort: 9, name: "x" },
        { containerPort: 2379, name: "y" },
      ],
    }),
  ],
  ["the same port for another protocol", container({ ports: [{ containerPort: 2379, protocol: "UDP" }] })],
  ["different times of a probe", container({ livenessProbe: { failureThreshold: 3 } })],
  ["no probe", container({ startupProbe: null })],
  ["a command that is replaced", container({ command: ["sh", "-c", "etcd"] })],
  [
    "a variable with a value instead of a source",
    container({ env: [{ name: "ETCD_INITIAL_CLUSTER", valueFrom: null, value: "x" }] }),
  ],
  [
    "host aliases",
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
    "a volume with two mounts",
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
    "the same variable twice, in every container",
    container({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    }),
  ],
  [
    "null for a missing field",
    { metadata: { labels: { a: null as never } }, spec: { nodeSelector: null, dnsConfig: { options: null } } },
  ],
  ["null for a field of the operator", { metadata: { annotations: { "etcd.improbable.io/revision": null as never } } }],
  [
    "null inside of a new field",
    { spec: { dnsConfig: { nameservers: null, options: [{ name: "ndots", value: null }] } } },
  ],
  ["a label with the name of an object's property", { metadata: { labels: { constructor: "x", toString: "y" } } }],
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

describe("the API server and the operator merge a patch with the same result:", () => {
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
  ["a text instead of a list", { spec: { containers: "etcd" } }],
  ["no container", { spec: { containers: null } }],
  ["no spec", { spec: null as never }],
];

describe("a pod template patch that the API server refuses is also refused after the operator's merge:", () => {
  for (const [name, template] of refused) {
    test(name, async () => expect(isTaken(await expectSame(template))).toBe(false));
  }
});

test("the operator's merge appends new list items, and the API server's merge prepends them", async () => {
  const sidecar = { spec: { containers: [{ name: "shipper", image: "busybox" }] } };
  const names = ({ body }: Answer) => body.template?.spec.containers.map(({ name }) => name);
  expect(names(await patched(sidecar))).toEqual(["shipper", "etcd"]);
  expect(names(await merged(sidecar))).toEqual(["etcd", "shipper"]);
});

// Random patches: values and lists come from small pools, so that they often meet the operator's own, with some nulls.

/** An object with some of these fields. */
function some(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  const orNull = Object.entries(fields).map(([field, value]) => [
    field,
    fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) }),
  ]);
  return fc.record(Object.fromEntries(orNull), { requiredKeys: [] });
}

/** Up to three items, each with its key and some of the other fields. */
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

test("the API server and the operator merge a random patch with the same result", { timeout: 120_000 }, async () => {
  let isTakenOften = 0;
  const property = fc.asyncProperty(wishes, async (template) => {
    if (isTaken(await expectSame(template as PartialPodTemplate))) isTakenOften++;
  });
  await fc.assert(property, { numRuns: RUNS });
  expect(isTakenOften).toBeGreaterThan(RUNS / 10);
});
