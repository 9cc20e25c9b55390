import { DEFAULT_STORAGE, DEFAULT_VERSION } from "#api/common-schema.ts";
import type { Draft, Service } from "#kube/kinds.ts";
import { lifecycle } from "#peer/desired/ending.ts";
import { livenessProbe, readinessProbe, startupProbe } from "#peer/desired/probes.ts";
import type { StatefulSet } from "./kube.ts";

// What is the floor?
//   A hand-written StatefulSet that starts three members as fast as Kubernetes can: all pods at once, with a fixed list
//   of members. Pods, probes, volumes and etcd's settings are those of the operator's members. So only the creation of
//   the objects differs.

const IMAGE = `gcr.io/etcd-development/etcd:v${DEFAULT_VERSION}`;
const NAME = "floor";
const LABELS = { app: NAME };
const MEMBERS = [0, 1, 2].map((ordinal) => `${NAME}-${ordinal}`);

/** Objects in the order of their creation. */
export function floorObjects(namespace: string): readonly [Draft<Service>, Draft<StatefulSet>] {
  return [headlessService(namespace), statefulSet(namespace)];
}

function headlessService(namespace: string): Draft<Service> {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name: NAME, labels: LABELS },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: LABELS,
      ports: [
        { name: "client", port: 2379 },
        { name: "peer", port: 2380 },
      ],
    },
  };
}

function statefulSet(namespace: string): Draft<StatefulSet> {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace, name: NAME, labels: LABELS },
    spec: {
      serviceName: NAME,
      replicas: MEMBERS.length,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: podSpec(namespace) },
      volumeClaimTemplates: [
        {
          metadata: { name: "etcd-data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: DEFAULT_STORAGE } } },
        },
      ],
    },
  } as Draft<StatefulSet>;
}

function podSpec(namespace: string) {
  const nobody = 65_532;
  const over = (topologyKey: string) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: LABELS },
  });
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: nobody,
      runAsGroup: nobody,
      fsGroup: nobody,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    topologySpreadConstraints: [over("topology.kubernetes.io/zone"), over("kubernetes.io/hostname")],
    containers: [
      {
        name: "etcd",
        image: IMAGE,
        imagePullPolicy: "IfNotPresent",
        command: ["etcd"],
        env: environment(namespace),
        ports: [{ containerPort: 2379 }, { containerPort: 2380 }, { containerPort: 2381 }],
        startupProbe,
        livenessProbe,
        readinessProbe,
        ...lifecycle({ podTemplate: {} }),
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        volumeMounts: [{ name: "etcd-data", mountPath: "/var/lib/etcd" }],
      },
    ],
  };
}

function environment(namespace: string) {
  const host = (member: string) => `${member}.${NAME}.${namespace}.svc`;
  const own = host("$(ETCD_NAME)");
  const values = {
    ETCD_DATA_DIR: "/var/lib/etcd/data",
    ETCD_LISTEN_PEER_URLS: "http://0.0.0.0:2380",
    ETCD_LISTEN_CLIENT_URLS: "http://0.0.0.0:2379",
    ETCD_LISTEN_METRICS_URLS: "http://0.0.0.0:2381",
    ETCD_INITIAL_ADVERTISE_PEER_URLS: `http://${own}:2380`,
    ETCD_ADVERTISE_CLIENT_URLS: `http://${own}:2379`,
    ETCD_INITIAL_CLUSTER: MEMBERS.map((member) => `${member}=http://${host(member)}:2380`).join(","),
    ETCD_INITIAL_CLUSTER_STATE: "new",
    ETCD_INITIAL_CLUSTER_TOKEN: `${namespace}/${NAME}`,
  };
  return [
    // First, since the other variables refer to it.
    { name: "ETCD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    ...Object.entries(values).map(([name, value]) => ({ name, value })),
  ];
}
