import { describe, expect, test } from "vitest";
import type { PartialPodTemplate } from "#api/pod-template/merge.ts";
import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { PLAIN, SIDECAR } from "#kit/tables/pod-power.ts";
import { podTemplate } from "#peer/desired/pod.ts";

const ETCD = podTemplate(peer()).spec.containers[0]!;

function spec(part: object): PartialPodTemplate {
  return { spec: part };
}
function etcd(part: object): PartialPodTemplate {
  return spec({ containers: [{ name: "etcd", ...part }] });
}
function sidecar(part: object): PartialPodTemplate {
  return spec({ containers: [{ ...SIDECAR, ...part }] });
}

const POD = "spec.podTemplate.spec";
const FIRST = `${POD}.containers[0]`;
const FLAGS = "the operator starts etcd; flags of etcd go into spec.etcd.extraArgs";
const PROBE = "the operator sets the probes of etcd; other containers may have probes";
const NAMES = "members find each other by the host names that the operator gives them";
const AGAIN = "etcd must be started again whenever it ends";
const OWN = "it must be left out: it is the operator's own";
const STAYS = "or left out: the operator adds to it";

/** Templates, and the messages that refuse them. */
const refused: readonly { name: string; given: PartialPodTemplate; expect: readonly string[] }[] = [
  ...["command", "args"].map((field) => ({
    name: `${field} of etcd`,
    given: etcd({ [field]: ["--force-new-cluster"] }),
    expect: [`${FIRST}.${field} is set; it must be left out: ${FLAGS}`],
  })),
  {
    name: "the image of etcd and when it is pulled",
    given: etcd({ image: "other/etcd:v3.6.16", imagePullPolicy: "Always" }),
    expect: [
      `${FIRST}.image is "other/etcd:v3.6.16"; it must be left out: spec.version and spec.image set which etcd runs`,
      `${FIRST}.imagePullPolicy is "Always"; it must be left out: spec.image.pullPolicy sets when it is pulled`,
    ],
  },
  ...["startupProbe", "livenessProbe", "readinessProbe"].flatMap((field) => [
    {
      name: `the ${field} of etcd`,
      given: etcd({ [field]: { periodSeconds: 1 } }),
      expect: [`${FIRST}.${field} is set; it must be left out: ${PROBE}`],
    },
    {
      name: `no ${field} of etcd`,
      given: etcd({ [field]: null }),
      expect: [`${FIRST}.${field} is null; it must be left out: ${PROBE}`],
    },
  ]),
  {
    name: "an etcd that is not restarted",
    given: etcd({ restartPolicy: "Never", restartPolicyRules: [] }),
    expect: [
      `${FIRST}.restartPolicy is "Never"; it must be "Always" or left out: ${AGAIN}`,
      `${FIRST}.restartPolicyRules is set; it must be left out: ${AGAIN}`,
    ],
  },
  ...["File", null].map((policy) => ({
    name: `an etcd with lost last log lines (${policy})`,
    given: etcd({ terminationMessagePolicy: policy }),
    expect: [
      `${FIRST}.terminationMessagePolicy is ${JSON.stringify(policy)}; it must be "FallbackToLogsOnError" or left out: the operator learns from the last lines of its log why etcd ended`,
    ],
  })),
  {
    name: "a variable that is a flag, among others that are not",
    given: etcd({ env: [{ name: "TZ" }, { name: "ETCD_HEARTBEAT_INTERVAL", value: "1" }, { name: "ETCDCTL_API" }] }),
    expect: [
      `${FIRST}.env[1].name is "ETCD_HEARTBEAT_INTERVAL"; it must not begin with ETCD_: etcd takes such a variable for a flag, and flags go into spec.etcd.extraArgs`,
    ],
  },
  ...[undefined, "", "E", "ETCD", "ETCD_", "ETCD_LOG_", 1].map((prefix) => ({
    name: `imported variables that may be flags (prefix ${prefix})`,
    given: etcd({ envFrom: [{ ...(prefix === undefined ? {} : { prefix }), configMapRef: { name: "x" } }] }),
    expect: [
      `${FIRST}.envFrom[0].prefix is ${prefix === undefined ? "not set" : JSON.stringify(prefix)}; it must be a prefix such as APP_: no variable may begin with ETCD_, which etcd reads as flags (use spec.etcd.extraArgs)`,
    ],
  })),
  ...ETCD.ports!.flatMap(({ containerPort, name }) =>
    [etcd, sidecar].map((container) => ({
      name: `port ${containerPort} of ${container.name}, by number and by name`,
      given: container({
        ports: [
          { containerPort: 80, name: "http" },
          { containerPort, name },
        ],
      }),
      expect: [
        `${FIRST}.ports[1].containerPort is ${containerPort}; it must be none of 2379, 2380, 2381: etcd listens there`,
        `${FIRST}.ports[1].name is "${name}"; it must be none of etcd-client, etcd-peer, etcd-metrics: these are ports of etcd`,
      ],
    })),
  ),
  {
    name: "a port of etcd in an init container",
    given: spec({ initContainers: [{ ...SIDECAR, ports: [{ containerPort: 2379 }] }] }),
    expect: [
      `${POD}.initContainers[0].ports[0].containerPort is 2379; it must be none of 2379, 2380, 2381: etcd listens there`,
    ],
  },
  ...[
    "/var/lib/etcd",
    "/var/lib/etcd/",
    "/var/lib/etcd/data/member",
    "/var/lib",
    "/",
    "",
    "var/lib",
    "//var/./lib/x/..",
  ].map((mountPath) => ({
    name: `a mount at ${mountPath}`,
    given: etcd({ volumeMounts: [{ name: "x", mountPath }] }),
    expect: [
      `${FIRST}.volumeMounts[0].mountPath is "${mountPath}"; it must not be /var/lib/etcd, nor above or below it: etcd's data is there`,
    ],
  })),
  ...[undefined, false, "true"].map((readOnly) => ({
    name: `a sidecar that may write to the data (readOnly ${readOnly})`,
    given: sidecar({
      volumeMounts: [{ name: "etcd-data", mountPath: "/data", ...(readOnly === undefined ? {} : { readOnly }) }],
    }),
    expect: [
      `${FIRST}.volumeMounts[0].readOnly is ${readOnly === undefined ? "not set" : JSON.stringify(readOnly)}; it must be true: only etcd writes to the volume etcd-data`,
    ],
  })),
  {
    name: "an init container that may write to the data",
    given: spec({ initContainers: [{ ...SIDECAR, volumeMounts: [{ name: "etcd-data", mountPath: "/data" }] }] }),
    expect: [
      `${POD}.initContainers[0].volumeMounts[0].readOnly is not set; it must be true: only etcd writes to the volume etcd-data`,
    ],
  },
  {
    name: "two containers with one name",
    given: spec({ containers: [{ name: "etcd" }, SIDECAR, { name: "etcd" }] }),
    expect: [
      `${POD}.containers[2].name is "etcd", which is the name of ${POD}.containers[0]; each container must have its own`,
    ],
  },
  {
    name: "an init container with the name of etcd's",
    given: spec({ initContainers: [SIDECAR, { name: "etcd" }] }),
    expect: [
      `${POD}.initContainers[1].name is "etcd"; it must be a different name: this is the name of etcd's container`,
    ],
  },
  ...["hostname", "subdomain"].flatMap((field) => [
    { name: field, given: spec({ [field]: "x" }), expect: [`${POD}.${field} is "x"; it must be left out: ${NAMES}`] },
    {
      name: `no ${field}`,
      given: spec({ [field]: null }),
      expect: [`${POD}.${field} is null; it must be left out: ${NAMES}`],
    },
  ]),
  {
    name: "the fully qualified host name",
    given: spec({ setHostnameAsFQDN: true }),
    expect: [
      `${POD}.setHostnameAsFQDN is true; it must be false or left out: a pod does not start if its fully qualified name exceeds 64 characters`,
    ],
  },
  {
    name: "the network of the node",
    given: spec({ hostNetwork: true }),
    expect: [
      `${POD}.hostNetwork is true; it must be false or left out: members on one node would take each other's ports`,
    ],
  },
  ...["hostPID", "hostIPC"].map((field) => ({
    name: `${field} of the node`,
    given: spec({ [field]: true }),
    expect: [`${POD}.${field} is true; it must be false or left out: a member shares nothing with its node`],
  })),
  {
    name: "a pod that is not restarted",
    given: spec({ restartPolicy: "Never" }),
    expect: [`${POD}.restartPolicy is "Never"; it must be "Always" or left out: ${AGAIN}`],
  },
  ...["Default", "None"].map((policy) => ({
    name: `the DNS policy ${policy}`,
    given: spec({ dnsPolicy: policy }),
    expect: [
      `${POD}.dnsPolicy is "${policy}"; it must be "ClusterFirst" or "ClusterFirstWithHostNet" or left out: only the Kubernetes cluster's DNS knows the members; dnsConfig may add to it`,
    ],
  })),
  {
    name: "one node for all members",
    given: spec({ nodeName: "node-1" }),
    expect: [
      `${POD}.nodeName is "node-1"; it must be left out: it puts all members on one node, and volumes wait for the scheduler; use nodeSelector or affinity`,
    ],
  },
  ...[0, 9].map((seconds) => ({
    name: `${seconds} seconds of grace period`,
    given: spec({ terminationGracePeriodSeconds: seconds }),
    expect: [
      `${POD}.terminationGracePeriodSeconds is ${seconds}; it must be 10 or more: etcd needs up to 7 seconds to transfer its leadership`,
    ],
  })),
  {
    name: "a host alias for the member's own address",
    given: spec({ hostAliases: [{ ip: "10.0.0.1" }, { ip: "127.0.0.1", hostnames: ["x"] }] }),
    expect: [
      `${POD}.hostAliases[1].ip is "127.0.0.1"; it must be a different address, such as 127.0.0.2: a member finds its own name there`,
    ],
  },
  ...[
    { sleep: 21, most: 20 },
    { sleep: 51, grace: 60, most: 50 },
    { sleep: 1, grace: 10, most: 0 },
  ].map(({ sleep, grace, most }) => ({
    name: `a pause of ${sleep} seconds before etcd stops, with a grace period of ${grace ?? "30, the default"}`,
    given: spec({
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
      containers: [{ name: "etcd", lifecycle: { preStop: { sleep: { seconds: sleep } } } }],
    }),
    expect: [
      `${FIRST}.lifecycle.preStop.sleep.seconds is ${sleep}; it must be at most ${most}, 10 less than terminationGracePeriodSeconds: etcd needs up to 7 seconds to transfer its leadership`,
    ],
  })),
  {
    name: "a stop signal at which etcd transfers no leadership",
    given: etcd({ lifecycle: { stopSignal: "SIGQUIT" } }),
    expect: [
      `${FIRST}.lifecycle.stopSignal is "SIGQUIT"; it must be "SIGTERM" or "SIGINT" or left out: at any other signal etcd ends without a transfer of its leadership`,
    ],
  },
  {
    name: "another volume for the data",
    given: spec({ volumes: [{ name: "x" }, { name: "etcd-data", emptyDir: {} }] }),
    expect: [
      `${POD}.volumes[1].name is "etcd-data"; it must be a different name: this volume is the member's data, which spec.storage describes`,
    ],
  },
  ...["my-etcd-0", "my-etcd-12"].map((claimName) => ({
    name: `a member's data by its claim ${claimName}, even read-only`,
    given: spec({ volumes: [{ name: "x" }, { name: "y", persistentVolumeClaim: { claimName, readOnly: true } }] }),
    expect: [
      `${POD}.volumes[1].persistentVolumeClaim.claimName is "${claimName}"; it must be a different claim: this is the claim of a member of my-etcd, and any other writer destroys its data`,
    ],
  })),
  {
    name: "the label instance, which has the cluster's name",
    given: { metadata: { labels: { "app.kubernetes.io/instance": "x" } } },
    expect: [`spec.podTemplate.metadata.labels[app.kubernetes.io/instance] is "x"; ${OWN}`],
  },
  {
    name: "unused labels and annotations of the operator's group",
    given: { metadata: { labels: { "etcd.improbable.io/x": "y" }, annotations: { "etcd.improbable.io/x": "y" } } },
    expect: [
      `spec.podTemplate.metadata.labels[etcd.improbable.io/x] is "y"; ${OWN}`,
      `spec.podTemplate.metadata.annotations[etcd.improbable.io/x] is "y"; ${OWN}`,
    ],
  },
  ...["metadata", "spec"].map((field) => ({
    name: `no ${field}`,
    given: { [field]: null } as never,
    expect: [`spec.podTemplate.${field} is null; it must be a map ${STAYS}`],
  })),
  ...["labels", "annotations"].map((field) => ({
    name: `no ${field}`,
    given: { metadata: { [field]: null } } as never,
    expect: [`spec.podTemplate.metadata.${field} is null; it must be a map ${STAYS}`],
  })),
  ...["containers", "volumes", "hostAliases"].map((field) => ({
    name: `a string for ${field}`,
    given: spec({ [field]: "x" }),
    expect: [`${POD}.${field} is "x"; it must be a list ${STAYS}`],
  })),
  ...["env", "ports", "volumeMounts"].map((field) => ({
    name: `no ${field} of etcd`,
    given: etcd({ [field]: null }),
    expect: [`${FIRST}.${field} is null; it must be a list ${STAYS}`],
  })),
  ...["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/args"].map((directive) => ({
    name: `the directive ${directive}`,
    given: sidecar({ securityContext: { ...PLAIN.securityContext, [directive]: "x" } }),
    expect: [
      `${FIRST}.securityContext.${directive} is a directive of a patch; it must be left out: this is a part of a pod, and no patch`,
    ],
  })),
  {
    name: "items without a name",
    given: spec({
      containers: [
        { image: "x", ...PLAIN },
        { name: null, ...PLAIN },
        { ...SIDECAR, env: [{ value: "x" }] },
      ],
      volumes: [{}],
    }),
    expect: [
      `${FIRST} has no name; the items of this list are identified by it`,
      `${POD}.containers[1] has no name; the items of this list are identified by it`,
      `${POD}.containers[2].env[0] has no name; the items of this list are identified by it`,
      `${POD}.volumes[0] has no name; the items of this list are identified by it`,
    ],
  },
];

describe("a pod template is refused that has", () => {
  for (const { name, given, expect: sentences } of refused) {
    test(name, () => expect(whyNotTemplate(given, "my-etcd")).toEqual(sentences));
  }
});

const allowed: readonly (readonly [name: string, given: PartialPodTemplate])[] = [
  ["nothing", {}],
  [
    "additional labels and annotations",
    {
      metadata: {
        labels: { team: "shop", "app.kubernetes.io/part-of": "shop" },
        annotations: { "example.com/etcd.improbable.io/": "" },
      },
    },
  ],
  [
    "sidecars, init containers and volumes",
    spec({
      initContainers: [
        { name: "prepare", image: "x", ...PLAIN, restartPolicy: "Always", ports: [{ containerPort: 80 }] },
      ],
      containers: [
        {
          name: "shipper",
          image: "x",
          ...PLAIN,
          command: ["sh"],
          args: ["-c"],
          env: [{ name: "ETCD_ENDPOINT", value: "x" }],
          envFrom: [{ configMapRef: { name: "x" } }],
          livenessProbe: {},
          restartPolicy: "Never",
          volumeMounts: [
            { name: "etcd-data", mountPath: "/data", readOnly: true },
            { name: "scratch", mountPath: "/var/lib/etcd" },
          ],
        },
        { name: "exporter", image: "x", ...PLAIN, env: null, ports: null },
      ],
      volumes: [{ name: "scratch", emptyDir: {} }],
    }),
  ],
  [
    "fields of etcd's container that the operator does not set",
    etcd({
      resources: { limits: { memory: "1Gi" } },
      env: [
        { name: "GOMEMLIMIT", value: "1GiB" },
        { name: "GOMAXPROCS", value: "2" },
      ],
      envFrom: [{ prefix: "APP_", configMapRef: { name: "x" } }],
      lifecycle: { preStop: { sleep: { seconds: 1 } } },
      ports: [{ containerPort: 2382, name: "debug" }],
      securityContext: { runAsUser: 1000, capabilities: null },
      restartPolicy: "Always",
      terminationMessagePolicy: "FallbackToLogsOnError",
      volumeMounts: [
        { name: "x", mountPath: "/var/lib/etcd-wal" },
        { name: "x", mountPath: "/tmp" },
        { name: "etcd-data", mountPath: "/again", readOnly: true },
      ],
    }),
  ],
  ["an etcd without an explicit restart policy", etcd({ restartPolicy: null })],
  [
    "scheduling and other properties of the pod",
    spec({
      affinity: {},
      topologySpreadConstraints: null,
      tolerations: [{ operator: "Exists" }],
      nodeSelector: { a: "b" },
      priorityClassName: "important",
      schedulerName: "other",
      runtimeClassName: "gvisor",
      imagePullSecrets: [{ name: "registry" }],
      securityContext: { runAsUser: null },
      shareProcessNamespace: true,
      dnsConfig: { options: [{ name: "ndots", value: "1" }] },
      hostAliases: [{ ip: "10.0.0.1", hostnames: ["x"] }],
      terminationGracePeriodSeconds: 10,
    }),
  ],
  [
    "values that equal the defaults",
    spec({
      setHostnameAsFQDN: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      restartPolicy: "Always",
      dnsPolicy: "ClusterFirst",
    }),
  ],
  ["the DNS policy for a node's network", spec({ dnsPolicy: "ClusterFirstWithHostNet" })],
  [
    "null for fields that the operator does not set",
    spec({
      setHostnameAsFQDN: null,
      hostNetwork: null,
      hostPID: null,
      hostIPC: null,
      restartPolicy: null,
      dnsPolicy: null,
      nodeName: null,
      terminationGracePeriodSeconds: null,
      initContainers: null,
    }),
  ],
  ["a map with arbitrary keys", spec({ nodeSelector: { $x: "y", patch: "z" } })],
  [
    "fields that the API server will refuse itself",
    spec({ containers: [null, "x"], tolerations: { a: 1 }, unknown: 1 }),
  ],
  [
    "claims with names similar to those of members",
    spec({
      volumes: [
        "my-etcd",
        "my-etcd-",
        "my-etcd-x",
        "my-etcd-01",
        "my-etcd-0-x",
        "my-etcd-backup-0",
        "x-my-etcd-0",
        0,
      ].map((claimName, n) => ({ name: `v${n}`, persistentVolumeClaim: { claimName } })),
    }),
  ],
  [
    "a long grace period for etcd, and any stop signal and pause of a sidecar",
    spec({
      terminationGracePeriodSeconds: 40,
      containers: [
        { name: "etcd", lifecycle: { stopSignal: "SIGINT", preStop: { sleep: { seconds: 30 } } } },
        { ...SIDECAR, lifecycle: { stopSignal: "SIGKILL", preStop: { sleep: { seconds: 40 } } } },
      ],
    }),
  ],
  ["the longest allowed pause before etcd stops", etcd({ lifecycle: { preStop: { sleep: { seconds: 20 } } } })],
  ["a preStop hook that is a command", etcd({ lifecycle: { preStop: { exec: { command: ["sleep", "60"] } } } })],
  [
    "a mount path and a variable name of a wrong type",
    { ...etcd({ volumeMounts: [{ mountPath: 1 }], env: [{ name: 1 }] }) },
  ],
  ["a grace period of a wrong type", spec({ terminationGracePeriodSeconds: "5" })],
];

describe("a pod template is accepted that has", () => {
  for (const [name, given] of allowed) {
    test(name, () => expect(whyNotTemplate(given, "my-etcd")).toEqual([]));
  }
});

/** Every field of an object of the operator, and the template that removes it. */
function removals(
  value: unknown,
  path: string,
  within: (part: unknown) => unknown,
): readonly (readonly [field: string, template: PartialPodTemplate])[] {
  const fieldsOf = (map: object, field: string, wrap: (part: object) => unknown) =>
    Object.entries(map).flatMap(([name, each]) => {
      const [inner, put] = [`${field}.${name}`, (part: unknown) => wrap({ [name]: part })];
      return [[inner, put(null) as PartialPodTemplate] as const, ...removals(each, inner, put)];
    });
  const key = MERGE_KEYS[path.replaceAll(/\[.*?\]/g, "").slice(1)];
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if (key === undefined) return [];
      const { [key]: name, ...rest } = item;
      return fieldsOf(rest, `${path}[${name}]`, (part) => within([{ [key]: name, ...part }]));
    });
  }
  return typeof value === "object" && value !== null ? fieldsOf(value, path, within) : [];
}

test("the termination message may not be written into etcd's data directory", () => {
  const given = (terminationMessagePath: string) =>
    whyNotTemplate({ spec: { containers: [{ name: "etcd", terminationMessagePath }] } }, "my-etcd");
  expect(given("/var/lib/etcd/data/member/snap/db")).toEqual([
    'spec.podTemplate.spec.containers[0].terminationMessagePath is "/var/lib/etcd/data/member/snap/db"; it must not be /var/lib/etcd, nor above or below it: the kubelet puts an empty file there',
  ]);
  expect(given("/dev/termination-log")).toEqual([]);
});

test("a pod template may remove only these fields of the operator", () => {
  const whole = podTemplate(peer({ spec: { podTemplate: withResources({ limits: { cpu: 2 } }) } }));
  const fields = removals(whole, "", (part) => part);
  expect(fields.length).toBeGreaterThan(60);
  const allowed = fields.filter(([, given]) => whyNotTemplate(given, "my-etcd").length === 0).map(([field]) => field);
  // Constraints are replaced as a whole, so the fields inside them do not matter.
  expect(allowed.filter((field) => !field.startsWith(".spec.topologySpreadConstraints["))).toEqual([
    ".spec.enableServiceLinks",
    ".spec.terminationGracePeriodSeconds",
    ".spec.securityContext",
    ".spec.securityContext.runAsNonRoot",
    ".spec.securityContext.runAsUser",
    ".spec.securityContext.runAsGroup",
    ".spec.securityContext.fsGroup",
    ".spec.securityContext.fsGroupChangePolicy",
    ".spec.securityContext.seccompProfile",
    ".spec.securityContext.seccompProfile.type",
    ".spec.topologySpreadConstraints",
    ".spec.containers[etcd].env[GOMAXPROCS].value",
    ".spec.containers[etcd].lifecycle",
    ".spec.containers[etcd].lifecycle.preStop",
    ".spec.containers[etcd].lifecycle.preStop.sleep",
    ".spec.containers[etcd].lifecycle.preStop.sleep.seconds",
    ".spec.containers[etcd].securityContext.readOnlyRootFilesystem",
    ".spec.containers[etcd].securityContext.capabilities",
    ".spec.containers[etcd].securityContext.capabilities.drop",
    ".spec.containers[etcd].resources",
    ".spec.containers[etcd].resources.limits",
    ".spec.containers[etcd].resources.limits.cpu",
  ]);
});

test("a pod template is checked once per cluster, and the result is cached", () => {
  let looks = 0;
  const volumes = [{ name: "x", persistentVolumeClaim: { claimName: "other-0" } }];
  const given: PartialPodTemplate = {
    get spec() {
      looks++;
      return { volumes };
    },
  };
  expect(whyNotTemplate(given, "my-etcd")).toEqual([]);
  const once = looks;
  expect(once).toBeGreaterThan(0);
  expect(whyNotTemplate(given, "my-etcd")).toEqual([]);
  expect(looks).toBe(once);
  expect(whyNotTemplate(given, "other")).toHaveLength(1);
});
