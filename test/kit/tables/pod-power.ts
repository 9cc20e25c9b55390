// Parts of pods that give more power than the operator may grant, and parts that do not. Two checks must agree on them:
// whyNotTemplate, which refuses users' templates, and the admission policy on the operator's own pods.

export interface PodPart {
  readonly what: string;
  /** Content of `spec.podTemplate.spec`. */
  readonly spec: object;
  /** Content of `spec.podTemplate.metadata`. */
  readonly metadata?: object;
}

/** A sentence in the policy's message. */
export interface ForbiddenPart extends PodPart {
  readonly says: string;
}

const MOUNTS = "mount nothing but configMap, downwardAPI, emptyDir";
const NEW_VOLUMES = "are new ones, neither one by its name nor a copy";
const MEMBERS_DATA = "mount no claim of a member beside its own data";
const ENVIRONMENT = "have no Secrets in their environment";
const TOKEN = "get no token";
const ACCOUNT = "run under no service account but the default one";
const DEVICES = "claim no devices";
const NODE = "do not share the network, processes or memory of their node";
const PLACE = "are placed by a scheduler, and have no priority of Kubernetes' own components";
const NODE_PORT = "take no port of their node";
const CONFINED = "are confined as Pod Security baseline wants them";
const PRIVILEGES = "do not gain privileges";
const HOST = "name no host: they ask their own pod";

const UNPRIVILEGED = { allowPrivilegeEscalation: false };
/** Defaults that the operator sets on containers if the template leaves them out. */
export const PLAIN = { securityContext: UNPRIVILEGED };
export const SIDECAR = { name: "agent", image: "agent:1", ...PLAIN };

function volume(what: string, kind: object, says = MOUNTS): ForbiddenPart {
  return { what: `mount ${what}`, spec: { volumes: [{ name: "more", ...kind }] }, says };
}

function pod(what: string, spec: object, says: string): ForbiddenPart {
  return { what, spec, says };
}

/** One change applied to etcd's container, to a sidecar and to an init container. */
function container(what: string, part: object, says: string): readonly ForbiddenPart[] {
  return [
    { what, spec: { containers: [{ name: "etcd", ...part }] }, says },
    { what: `${what} in a sidecar`, spec: { containers: [{ ...SIDECAR, ...part }] }, says },
    { what: `${what} in an init container`, spec: { initContainers: [{ ...SIDECAR, ...part }] }, says },
  ];
}

function claim(spec: object): object {
  const wanted = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  return { ephemeral: { volumeClaimTemplate: { spec: { ...wanted, ...spec } } } };
}

function projected(source: object): object {
  return { projected: { sources: [source] } };
}

const OTHER_HANDLERS = [
  { httpGet: { host: "192.0.2.1", port: 80, path: "/" } },
  { tcpSocket: { host: "192.0.2.1", port: 80 } },
];

export const FORBIDDEN: readonly ForbiddenPart[] = [
  volume("a Secret", { secret: { secretName: "s" } }),
  volume("a folder of the node", { hostPath: { path: "/" } }),
  volume("a CSI volume with a Secret for its driver", { csi: { driver: "d", nodePublishSecretRef: { name: "s" } } }),
  volume("a token", projected({ serviceAccountToken: { path: "t" } })),
  volume("a projected Secret", projected({ secret: { name: "s" } })),
  volume("a member's data", { persistentVolumeClaim: { claimName: "my-etcd-1" } }, MEMBERS_DATA),
  volume("its own data", { persistentVolumeClaim: { claimName: "my-etcd-0", readOnly: true } }, MEMBERS_DATA),
  volume("another user's volume", claim({ volumeName: "somebody-elses" }), NEW_VOLUMES),
  volume("another user's volume by its labels", claim({ selector: { matchLabels: { of: "others" } } }), NEW_VOLUMES),
  volume("a copy", claim({ dataSource: { kind: "PersistentVolumeClaim", name: "somebody-elses" } }), NEW_VOLUMES),
  volume(
    "a copy of another kind",
    claim({ dataSourceRef: { apiGroup: "example.com", kind: "Image", name: "somebody-elses" } }),
    NEW_VOLUMES,
  ),
  ...container(
    "read Secrets as its environment",
    { envFrom: [{ prefix: "S_", secretRef: { name: "s" } }] },
    ENVIRONMENT,
  ),
  ...container(
    "read a Secret as a variable",
    { env: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
    ENVIRONMENT,
  ),
  pod("get a token", { automountServiceAccountToken: true }, TOKEN),
  pod("get a token by default", { automountServiceAccountToken: null }, TOKEN),
  pod("have another service account", { serviceAccountName: "somebody-elses" }, ACCOUNT),
  pod("have another service account in the field serviceAccount", { serviceAccount: "somebody-elses" }, ACCOUNT),
  pod("claim a device", { resourceClaims: [{ name: "d", resourceClaimName: "d" }] }, DEVICES),
  ...["system-node-critical", "system-cluster-critical", "system-other"].map((priorityClassName) =>
    pod(`have the priority ${priorityClassName}`, { priorityClassName }, PLACE),
  ),
  pod("name a node", { nodeName: "node-1" }, PLACE),
  ...["hostNetwork", "hostPID", "hostIPC"].map((shared) => pod(`have ${shared}`, { [shared]: true }, NODE)),
  ...container("listen on a port of the node", { ports: [{ containerPort: 9999, hostPort: 9999 }] }, NODE_PORT),
  ...container("allow privilege escalation", { securityContext: { allowPrivilegeEscalation: true } }, PRIVILEGES),
  ...container(
    "leave privilege escalation at its default",
    { securityContext: { allowPrivilegeEscalation: null } },
    PRIVILEGES,
  ),
  ...container("have no securityContext", { securityContext: null }, PRIVILEGES),
  ...container(
    "have a capability",
    { securityContext: { ...UNPRIVILEGED, capabilities: { add: ["SYS_ADMIN"] } } },
    PRIVILEGES,
  ),
  ...OTHER_HANDLERS.flatMap((handler) => [
    ...["startupProbe", "livenessProbe", "readinessProbe"].map((probe) =>
      pod(
        `probe another host by a ${probe} (${Object.keys(handler)})`,
        { containers: [{ ...SIDECAR, [probe]: handler }] },
        HOST,
      ),
    ),
    ...["postStart", "preStop"].flatMap((hook) => [
      pod(
        `call another host in ${hook} of a sidecar (${Object.keys(handler)})`,
        { containers: [{ ...SIDECAR, lifecycle: { [hook]: handler } }] },
        HOST,
      ),
      pod(
        `call another host in ${hook} of etcd (${Object.keys(handler)})`,
        { containers: [{ name: "etcd", lifecycle: { [hook]: handler } }] },
        HOST,
      ),
    ]),
  ]),
];

/**
 * Further parts that level "baseline" of Pod Security forbids:
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
export const UNCONFINED: readonly ForbiddenPart[] = [
  ...[
    { seccompProfile: { type: "Unconfined" } },
    { appArmorProfile: { type: "Unconfined" } },
    { seLinuxOptions: { type: "spc_t" } },
    { seLinuxOptions: { user: "system_u" } },
    { seLinuxOptions: { role: "system_r" } },
  ].flatMap((context) => {
    const what = `be less confined, by ${JSON.stringify(context)}`;
    return [
      ...container(what, { securityContext: { ...UNPRIVILEGED, ...context } }, CONFINED),
      pod(`${what} of all containers`, { securityContext: context }, CONFINED),
    ];
  }),
  pod(
    "set sysctls that apply to the whole node",
    {
      securityContext: {
        sysctls: [
          { name: "net.ipv4.tcp_syncookies", value: "1" },
          { name: "kernel.msgmax", value: "1" },
        ],
      },
    },
    CONFINED,
  ),
  {
    ...pod("be unconfined by the AppArmor annotation", {}, CONFINED),
    metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/etcd": "unconfined" } },
  },
];

/** Variants of these parts that level "baseline" allows. */
export const CONFINED_OTHERWISE: readonly PodPart[] = [
  ...["RuntimeDefault", "Localhost"].map((type) => {
    const profile = { type, ...(type === "Localhost" ? { localhostProfile: "etcd.json" } : {}) };
    const context = { seccompProfile: profile, appArmorProfile: profile };
    return {
      what: `be confined by the profile ${type}`,
      spec: {
        securityContext: context,
        containers: [{ name: "etcd", securityContext: { ...UNPRIVILEGED, ...context } }],
      },
    };
  }),
  ...["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"].map((type) => ({
    what: `have the SELinux type "${type}"`,
    spec: { securityContext: { seLinuxOptions: { level: "s0:c123,c456", ...(type === "" ? {} : { type }) } } },
  })),
  {
    what: "set sysctls that apply to the pod only",
    spec: {
      securityContext: {
        sysctls: [
          ["kernel.shm_rmid_forced", "1"],
          ["net.ipv4.ip_local_port_range", "1024 65535"],
          ["net.ipv4.ip_local_reserved_ports", "8080"],
          ["net.ipv4.ip_unprivileged_port_start", "0"],
          ["net.ipv4.ping_group_range", "0 1"],
          ["net.ipv4.tcp_fin_timeout", "30"],
          ["net.ipv4.tcp_keepalive_intvl", "10"],
          ["net.ipv4.tcp_keepalive_probes", "3"],
          ["net.ipv4.tcp_keepalive_time", "60"],
          ["net.ipv4.tcp_rmem", "4096 131072 6291456"],
          ["net.ipv4.tcp_syncookies", "1"],
          ["net.ipv4.tcp_wmem", "4096 16384 4194304"],
        ].map(([name, value]) => ({ name, value })),
      },
    },
  },
  {
    what: "be confined by the AppArmor annotation",
    spec: {},
    metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/etcd": "runtime/default" } },
  },
  {
    what: "run as root",
    spec: { containers: [{ ...SIDECAR, securityContext: { ...UNPRIVILEGED, runAsUser: 0, runAsNonRoot: false } }] },
  },
  {
    what: "have an unmasked /proc in a user namespace",
    spec: {
      hostUsers: false,
      containers: [{ ...SIDECAR, securityContext: { ...UNPRIVILEGED, procMount: "Unmasked" } }],
    },
  },
];

export const ALLOWED: readonly PodPart[] = [
  {
    what: "have a sidecar, an init container and a restartable init container",
    spec: {
      initContainers: [
        { ...SIDECAR, name: "first" },
        { ...SIDECAR, name: "proxy", restartPolicy: "Always" },
      ],
      containers: [{ ...SIDECAR, livenessProbe: { httpGet: { port: 80, path: "/" } } }],
    },
  },
  {
    what: "mount volumes without Secrets",
    spec: {
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "b", configMap: { name: "settings" } },
        { name: "c", downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } },
        { name: "d", persistentVolumeClaim: { claimName: "my-etcd-shared" } },
        { name: "e", ...claim({}) },
        { name: "f", ...projected({ configMap: { name: "settings" } }) },
        {
          name: "g",
          ...projected({ downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } }),
        },
        { name: "h" },
      ],
    },
  },
  ...[{ name: "etcd" }, SIDECAR].map((each) => ({
    what: `have an environment without Secrets (${each.name})`,
    spec: {
      containers: [
        {
          ...each,
          envFrom: [{ prefix: "APP_", configMapRef: { name: "settings" } }],
          env: [
            { name: "PLAIN", value: "x" },
            { name: "FROM_SETTINGS", valueFrom: { configMapKeyRef: { name: "settings", key: "k" } } },
            { name: "OWN_ADDRESS", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
            { name: "OWN_LIMIT", valueFrom: { resourceFieldRef: { containerName: "etcd", resource: "limits.cpu" } } },
          ],
          lifecycle: { preStop: { httpGet: { port: 80, path: "/" } } },
        },
      ],
    },
  })),
  { what: "name the default service account", spec: { serviceAccountName: "default" } },
  {
    what: "choose nodes, tolerations and a priority, and pull images with credentials",
    spec: {
      priorityClassName: "",
      tolerations: [{ operator: "Exists" }],
      nodeSelector: { "example.com/pool": "etcd" },
      imagePullSecrets: [{ name: "registry" }],
    },
  },
];

/** A template with everything that people may add to members. */
export const WHOLE_TEMPLATE = {
  metadata: { labels: { "example.com/team": "shop" }, annotations: { "example.com/scrape": "true" } },
  spec: {
    priorityClassName: "important",
    tolerations: [{ key: "example.com/pool", operator: "Equal", value: "etcd", effect: "NoSchedule" }],
    nodeSelector: { "example.com/pool": "etcd" },
    imagePullSecrets: [{ name: "registry" }],
    initContainers: [{ ...SIDECAR, name: "first", command: ["sh", "-c", "true"] }],
    containers: [
      {
        name: "etcd",
        resources: { requests: { cpu: "1", memory: "2Gi" } },
        env: [{ name: "TZ", value: "UTC" }],
        volumeMounts: [{ name: "settings", mountPath: "/etc/settings", readOnly: true }],
      },
      {
        ...SIDECAR,
        ports: [{ containerPort: 9100, name: "metrics" }],
        env: [{ name: "LEVEL", valueFrom: { configMapKeyRef: { name: "agent", key: "level" } } }],
        volumeMounts: [
          { name: "settings", mountPath: "/etc/agent" },
          { name: "etcd-data", mountPath: "/data", readOnly: true },
        ],
        readinessProbe: { httpGet: { path: "/", port: 9100 } },
      },
    ],
    volumes: [{ name: "settings", configMap: { name: "agent" } }],
  },
};
