/**
 * The name of a rule, a guard or a step as events write it: `restart-member` gives `RestartMember`, `restartPod` gives
 * `RestartPod`. Kubernetes asks for CamelCase in the `reason` and `action` of an event.
 *
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#events
 */
export function eventName(name: string): string {
  return name.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
