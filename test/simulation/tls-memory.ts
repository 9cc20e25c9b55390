import { applicationCertificateName, CLUSTER_LABEL, rootSecretName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { World } from "#kit/world.ts";
import type { ApiWrite } from "#kit/world-api.ts";
import { controllerOf, SECRETS, type Secret } from "#kube/kinds.ts";

/** Who wrote what into Secrets. */
export class TlsMemory {
  /** Names of clusters into whose Secrets a person has written. */
  readonly #tampered = new Set<string>();
  /** What was in the Secret of applications before, and until when, by its name. */
  readonly #before = new Map<string, { readonly secret: Secret; readonly untilMs: number }>();

  note({ actor, resource, before, after }: ApiWrite, nowMs: number): void {
    if (resource !== SECRETS || (after ?? before)?.metadata.name.endsWith(rootSecretName(""))) return;
    const cluster = (before ?? after)?.metadata.labels?.[CLUSTER_LABEL];
    if (actor === "person" && after !== undefined && cluster !== undefined) this.#tampered.add(cluster);
    if (before !== undefined) this.#before.set(before.metadata.name, { secret: before as Secret, untilMs: nowMs });
  }

  isTampered({ metadata }: EtcdCluster): boolean {
    return this.#tampered.has(metadata.name);
  }

  /** What clients may have by now of what they are to show, and whom they are to trust. */
  applicationOf(world: World, { metadata }: EtcdCluster, lagMs: number): readonly Secret[] {
    const name = applicationCertificateName(metadata.name);
    const live = world.api.find(SECRETS, { namespace: metadata.namespace, name });
    const before = this.#before.get(name);
    const isRecent =
      before !== undefined &&
      world.time.nowMs - before.untilMs < lagMs &&
      controllerOf(before.secret)?.uid === metadata.uid; // an earlier cluster of the name was another one
    return [...(live === undefined ? [] : [live]), ...(isRecent ? [before.secret] : [])];
  }
}
