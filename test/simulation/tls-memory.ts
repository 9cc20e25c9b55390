import { applicationCertificateName, CLUSTER_LABEL, rootSecretName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { ApiWrite } from "#kit/world/api.ts";
import type { World } from "#kit/world/world.ts";
import { controllerOf, SECRETS, type Secret } from "#kube/kinds.ts";

/** How long the previous content of a Secret is remembered, in milliseconds. */
const MOST_LAG_MS = 600_000;

/** Writes to Secrets and their authors. */
export class TlsMemory {
  /** Names of clusters with Secrets that a person has written. */
  readonly #tampered = new Set<string>();
  /** Previous contents of each Secret, with their end in world time, by name. */
  readonly #before = new Map<string, readonly { readonly secret: Secret; readonly untilMs: number }[]>();

  /** Uids of clusters that lost a Secret to a person before they ever had a leader. */
  readonly #takenBack = new Set<string>();

  /**
   * @param hasLed uids of clusters that ever had a leader. Before that no application was served: deleting a Secret
   * then withdraws its content and its signatures.
   */
  note({ actor, resource, before, after }: ApiWrite, nowMs: number, hasLed: Pick<ReadonlySet<string>, "has">): void {
    if (resource !== SECRETS || (after ?? before)?.metadata.name.endsWith(rootSecretName(""))) return;
    const cluster = (before ?? after)?.metadata.labels?.[CLUSTER_LABEL];
    if (actor === "person" && after !== undefined && cluster !== undefined) this.#tampered.add(cluster);
    if (before === undefined) return;
    const { name } = before.metadata;
    const uid = controllerOf(before)?.uid ?? "";
    if (!hasLed.has(uid)) {
      if (actor === "person" && after === undefined) this.#takeBack(uid);
      if (this.#takenBack.has(uid)) return;
    }
    const earlier = this.#before.get(name)?.filter(({ untilMs }) => nowMs - untilMs < MOST_LAG_MS) ?? [];
    this.#before.set(name, [...earlier, { secret: before as Secret, untilMs: nowMs }]);
  }

  #takeBack(uid: string): void {
    this.#takenBack.add(uid);
    for (const [name, all] of this.#before)
      this.#before.set(
        name,
        all.filter(({ secret }) => controllerOf(secret)?.uid !== uid),
      );
  }

  isTampered({ metadata }: EtcdCluster): boolean {
    return this.#tampered.has(metadata.name);
  }

  /** How long ago this content of a Secret was replaced, in milliseconds; 0 when it is the live one. */
  outdatedForMs({ api, time }: World, { metadata }: Secret): number {
    const isSame = (other: Secret | undefined) => other?.metadata.resourceVersion === metadata.resourceVersion;
    if (isSame(api.find(SECRETS, metadata))) return 0;
    const before = this.#before.get(metadata.name)?.find(({ secret }) => isSame(secret));
    return before === undefined ? MOST_LAG_MS : time.nowMs - before.untilMs;
  }

  /** Contents of the application Secret that clients may still use. @param lagMs at most ten minutes */
  applicationOf(world: World, { metadata }: EtcdCluster, lagMs: number): readonly Secret[] {
    const name = applicationCertificateName(metadata.name);
    const live = world.api.find(SECRETS, { namespace: metadata.namespace, name });
    // An earlier cluster of this name does not count.
    const recent = (this.#before.get(name) ?? []).filter(
      ({ secret, untilMs }) => world.time.nowMs - untilMs < lagMs && controllerOf(secret)?.uid === metadata.uid,
    );
    return [...(live === undefined ? [] : [live]), ...recent.map(({ secret }) => secret)];
  }
}
