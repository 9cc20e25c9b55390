import { APP_ARMOR_PREFIX, PROFILES, SELINUX_TYPES, SYSCTLS } from "#api/pod-template/reserved-confinement.ts";

// Pod Security level "baseline" in CEL, independent of what the namespace allows:
// https://kubernetes.io/docs/concepts/security/pod-security-standards/

/** A list of texts, in CEL. */
export function listOf(texts: readonly string[]): string {
  return `[${texts.map((text) => `'${text}'`).join(", ")}]`;
}

/**
 * Whether pods meet the level "baseline", in CEL, without the parts that other validations check.
 * @param containers all of the pod, as a list @param annotations of the pod, as a map
 */
export function isConfinedPod(containers: string, annotations: string): string {
  return [
    isConfined("pod.?securityContext"),
    `pod.?securityContext.?sysctls.orValue([]).all(one, one.name in ${listOf(SYSCTLS)})`,
    `${containers}.all(each, ${isConfined("each.?securityContext")})`,
    `${annotations}.all(key, !key.startsWith('${APP_ARMOR_PREFIX}') || ${annotations}[key].matches('^(runtime/default$|localhost/|$)'))`,
  ].join(" && ");
}

/** @param context a security context, as an optional value */
function isConfined(context: string): string {
  const isProfile = (profile: string) =>
    `${context}.?${profile}.?type.orValue('RuntimeDefault') in ${listOf(PROFILES)}`;
  return [
    ...["seccompProfile", "appArmorProfile"].map(isProfile),
    `${context}.?seLinuxOptions.?type.orValue('') in ${listOf(["", ...SELINUX_TYPES])}`,
    ...["user", "role"].map((part) => `${context}.?seLinuxOptions.?${part}.orValue('') == ''`),
    `!${context}.?windowsOptions.?hostProcess.orValue(false)`,
  ].join(" && ");
}
