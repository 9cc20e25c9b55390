import { itemsOf, mapIn, type Part, type Reserved, valueText, whyNotFields } from "#api/pod-template/reserved-field.ts";

// Which security settings may a template have?
//   Those of the level "baseline" of the Pod Security Standards. A namespace may allow more, but the operator does not
//   know whether the author of the EtcdCluster has that right. The API server's own check must give the same results
//   (test/apiserver/pod-security.test.ts). https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
// Why is procMount not checked?
//   The API server accepts an unmasked /proc only in pods with a user namespace (hostUsers: false), where it is
//   harmless.

const BECAUSE =
  "the operator grants nothing that may lead out of a pod: the author of the EtcdCluster may lack the right to use it";

/** Types of seccomp and AppArmor profiles that baseline allows. */
export const PROFILES: readonly string[] = ["RuntimeDefault", "Localhost"];
/** SELinux types that baseline allows. */
export const SELINUX_TYPES: readonly string[] = [
  "container_t",
  "container_init_t",
  "container_kvm_t",
  "container_engine_t",
];
/** Sysctls that baseline allows. Each is namespaced: it affects only the pod. */
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
/** Prefix of the deprecated pod annotations that set the AppArmor profile of one container. */
export const APP_ARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/";

type Fields = Readonly<Record<string, Reserved>>;
const OF_PROFILE: Fields = { type: { may: [null, ...PROFILES], because: BECAUSE } };
const OF_SELINUX: Fields = {
  type: { may: [null, "", ...SELINUX_TYPES], because: BECAUSE },
  user: { may: [null, ""], because: BECAUSE },
  role: { may: [null, ""], because: BECAUSE },
};
const OF_WINDOWS: Fields = { hostProcess: { may: [null, false], because: BECAUSE } };

/** Settings that confine the pod less than baseline requires, as messages. */
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
