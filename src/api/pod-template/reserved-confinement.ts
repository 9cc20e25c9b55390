import { itemsOf, mapIn, type Part, type Reserved, valueText, whyNotFields } from "#api/pod-template/reserved-field.ts";

// How loosely may a template confine a pod?
//   As loosely as the level "baseline" of the Pod Security Standards, which forbids what is known to lead out of a pod
//   (https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline). A namespace may allow more; whether whoever writes the
//   EtcdCluster may use that, the operator does not know. The API server's own judge is asked about the same in
//   test/apiserver/pod-security.test.ts.
// And a /proc that shows all? The API server takes it only in pods with users of their own (hostUsers: false), where it leads nowhere.

const BECAUSE =
  "the operator hands out nothing that may lead out of a pod: who may write an EtcdCluster need not be allowed to use it";

/** Kinds of confinement by profile that leave a pod confined. */
export const PROFILES: readonly string[] = ["RuntimeDefault", "Localhost"];
/** What processes in containers are to SELinux. */
export const SELINUX_TYPES: readonly string[] = [
  "container_t",
  "container_init_t",
  "container_kvm_t",
  "container_engine_t",
];
/** Settings of the kernel that a pod has for itself. */
export const SYSCTLS: readonly string[] = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
];
/** Annotations of a pod that say for one container each what `appArmorProfile` says. */
export const APP_ARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/";

type Fields = Readonly<Record<string, Reserved>>;
const OF_PROFILE: Fields = { type: { may: [null, ...PROFILES], because: BECAUSE } };
const OF_SELINUX: Fields = {
  type: { may: [null, "", ...SELINUX_TYPES], because: BECAUSE },
  user: { may: [null, ""], because: BECAUSE },
  role: { may: [null, ""], because: BECAUSE },
};
const OF_WINDOWS: Fields = { hostProcess: { may: [null, false], because: BECAUSE } };

/** What lets a pod be less confined than pods are by default. */
export function whyNotConfined(metadata: Part, spec: Part): readonly string[] {
  const containers = [...itemsOf(spec, "initContainers"), ...itemsOf(spec, "containers")];
  return [
    ...whyNotAnnotations(mapIn(metadata, "annotations")),
    ...[spec, ...containers].map((each) => mapIn(each, "securityContext")).flatMap(whyNotContext),
    ...itemsOf(mapIn(spec, "securityContext"), "sysctls").flatMap(whyNotSysctl),
  ];
}

function whyNotAnnotations({ value, field }: Part): readonly string[] {
  return Object.entries(value)
    .filter(
      ([key, each]) => key.startsWith(APP_ARMOR_PREFIX) && !/^(?:runtime\/default$|localhost\/|$)/.test(`${each}`),
    )
    .map(
      ([key, each]) =>
        `${field}[${key}] is ${valueText(each)}; it must be "runtime/default" or begin with "localhost/" or be left out: ${BECAUSE}`,
    );
}

function whyNotContext(context: Part): readonly string[] {
  return [
    ...["seccompProfile", "appArmorProfile"].flatMap((profile) => whyNotFields(mapIn(context, profile), OF_PROFILE)),
    ...whyNotFields(mapIn(context, "seLinuxOptions"), OF_SELINUX),
    ...whyNotFields(mapIn(context, "windowsOptions"), OF_WINDOWS),
  ];
}

function whyNotSysctl({ value: { name }, field }: Part): readonly string[] {
  if (typeof name !== "string" || SYSCTLS.includes(name)) return [];
  return [`${field}.name is ${valueText(name)}; it must be one of ${SYSCTLS.join(", ")}: ${BECAUSE}`];
}
