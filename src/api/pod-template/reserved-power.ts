import {
  itemsOf,
  mapIn,
  type Part,
  type Reserved,
  whyNotFields,
  whyNotMerged,
} from "#api/pod-template/reserved-field.ts";

// Why may a pod template not say all that a Pod may?
//   The operator makes the pod, with rights of its own. Who may write an EtcdCluster need not be allowed to make pods; they get from the
//   operator what gives no more power than a pod under the namespace's default service account has anyway.
// And who holds the operator to that? A policy that the API server evaluates, scripts/admission-policy.ts. It would refuse the ReplicaSet,
//   when the EtcdCluster is long stored; here people hear the same before.

function notHandedOut(what: string): string {
  return `the operator may not hand out ${what}: who may write an EtcdCluster need not be allowed to`;
}
const SECRETS = `${notHandedOut("Secrets")} read them`;
const ACCOUNTS = `${notHandedOut("service accounts")} use them`;
const TOKENS = `${notHandedOut("tokens of service accounts")} use them`;
const NODE = `${notHandedOut("what belongs to nodes")} use it`;
const PRIVILEGES = `${notHandedOut("privileges")} have them`;
const OTHERS = `${notHandedOut("any other kind")} use it`;

/** What a kind gives that is not handed out. */
const BECAUSE: Readonly<Record<string, string>> = {
  secret: SECRETS,
  secretRef: SECRETS,
  secretKeyRef: SECRETS,
  serviceAccountToken: TOKENS,
  hostPath: NODE,
};

const VOLUMES = ["configMap", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected"];
const SOURCES = ["clusterTrustBundle", "configMap", "downwardAPI"];
const VARIABLES = ["configMapKeyRef", "fieldRef", "resourceFieldRef"];
const ENVIRONMENTS = ["configMapRef"];

const ACCOUNT: Reserved = { may: [null, "default"], because: ACCOUNTS };
const OF_POD: Readonly<Record<string, Reserved>> = {
  serviceAccountName: ACCOUNT,
  serviceAccount: ACCOUNT,
  automountServiceAccountToken: { may: [false], because: TOKENS },
  resourceClaims: { may: [null], because: `${notHandedOut("devices")} use them` },
};

const NEW_VOLUME: Reserved = { may: [null], because: `${notHandedOut("volumes that are there")} use them` };
const OF_CLAIM = { volumeName: NEW_VOLUME, dataSource: NEW_VOLUME, dataSourceRef: NEW_VOLUME };

const ESCALATION = { allowPrivilegeEscalation: { may: [false], because: PRIVILEGES } };
const CAPABILITIES = { add: { may: [null], because: PRIVILEGES } };
const PORT = { hostPort: { may: [null, 0], because: NODE } };

/** The kubelet asks, from the node: it reaches what a pod may not. */
const HOST = { host: { may: [null], because: "the kubelet asks from the node, and is to ask the pod itself" } };
const PROBES = ["startupProbe", "livenessProbe", "readinessProbe"];
const HOOKS = ["postStart", "preStop"];
const HANDLERS = ["httpGet", "tcpSocket"];

/** What gives the pod more power than the operator may hand out. */
export function whyNotPower(spec: Part): readonly string[] {
  const containers = [...itemsOf(spec, "initContainers"), ...itemsOf(spec, "containers")];
  return [
    ...whyNotFields(spec, OF_POD),
    ...itemsOf(spec, "volumes").flatMap(whyNotVolume),
    ...containers.flatMap((each) => [
      ...whyNotVariables(each),
      ...itemsOf(each, "ports").flatMap((port) => whyNotFields(port, PORT)),
      ...whyNotPrivileges(each),
      ...handlersOf(each).flatMap((handler) => whyNotFields(handler, HOST)),
    ]),
  ];
}

function whyNotVolume(volume: Part): readonly string[] {
  const sources = itemsOf(mapIn(volume, "projected"), "sources");
  const claim = mapIn(mapIn(mapIn(volume, "ephemeral"), "volumeClaimTemplate"), "spec");
  return [
    ...whyNotKinds(volume, VOLUMES, "name"),
    ...sources.flatMap((source) => whyNotKinds(source, SOURCES)),
    ...whyNotFields(claim, OF_CLAIM),
  ];
}

function whyNotVariables(container: Part): readonly string[] {
  return [
    ...itemsOf(container, "env").flatMap((variable) => whyNotKinds(mapIn(variable, "valueFrom"), VARIABLES)),
    ...itemsOf(container, "envFrom").flatMap((source) => whyNotKinds(source, ENVIRONMENTS, "prefix")),
  ];
}

/** Of things that are of one kind each: those of another kind than there may be. @param beside what such a thing has besides its kind */
function whyNotKinds({ value, field }: Part, kinds: readonly string[], beside?: string): readonly string[] {
  return Object.entries(value)
    .filter(([kind, each]) => each !== null && kind !== beside && !kinds.includes(kind))
    .map(([kind]) => `${field}.${kind} is set; it must be ${kinds.join(" or ")} instead: ${BECAUSE[kind] ?? OTHERS}`);
}

/** Of every container the operator says that it does not escalate. */
function whyNotPrivileges(container: Part): readonly string[] {
  const context = mapIn(container, "securityContext");
  return [
    ...whyNotMerged(container, ["securityContext"], "map"),
    ...whyNotFields(context, ESCALATION),
    ...whyNotFields(mapIn(context, "capabilities"), CAPABILITIES),
  ];
}

function handlersOf(container: Part): readonly Part[] {
  const lifecycle = mapIn(container, "lifecycle");
  const asking = [...PROBES.map((probe) => mapIn(container, probe)), ...HOOKS.map((hook) => mapIn(lifecycle, hook))];
  return asking.flatMap((each) => HANDLERS.map((handler) => mapIn(each, handler)));
}
