import { OperatorError } from "#base/error.ts";
import type { CallOptions } from "#kube/client.ts";
import type { Draft, KubeObject, Lease, Ref, Resource } from "#kube/kinds.ts";
import type { LeaseClient } from "#kube/lease.ts";

/** What happens to one call on its way. */
export type Fate = "arrives" | "lost" | "reply-lost";

/** One lease on a server with optimistic locking, and a network that loses calls and replies as it is told. */
export class LeaseServer {
  lease: Lease | undefined;
  #version = 0;

  /** A client whose calls meet the fates that `fate` gives, each taking `delayMs` there and back. */
  client(fate: () => Fate, travel: () => Promise<void>): LeaseClient {
    const call = async <T>(work: () => T, { signal }: CallOptions): Promise<T> => {
      const met = fate();
      await travel();
      if (met === "lost") throw new OperatorError("KubeUnavailable", "the call was lost");
      const result = work();
      await travel();
      if (signal.aborted) throw new OperatorError("Cancelled", "the caller has left"); // and yet it was done
      if (met === "reply-lost") throw new OperatorError("KubeUnavailable", "the reply was lost");
      return result;
    };
    return {
      get: <T extends KubeObject>(_resource: Resource<T>, _ref: Ref, options: CallOptions) =>
        call(() => this.#read() as unknown as T, options),
      create: <T extends KubeObject>(_resource: Resource<T>, draft: Draft<T>, options: CallOptions) =>
        call(() => this.#create(draft as unknown as Draft<Lease>) as unknown as T, options),
      replace: <T extends KubeObject>(_resource: Resource<T>, draft: Draft<T>, options: CallOptions) =>
        call(() => this.#replace(draft as unknown as Draft<Lease>) as unknown as T, options),
    };
  }

  #read(): Lease {
    if (this.lease === undefined) throw new OperatorError("KubeNotFound", "no lease");
    return this.lease;
  }

  #create(draft: Draft<Lease>): Lease {
    if (this.lease !== undefined) throw new OperatorError("KubeAlreadyExists", "there is one");
    return this.#store(draft, `uid-${this.#version}`);
  }

  #replace(draft: Draft<Lease>): Lease {
    const { metadata } = this.#read();
    if (draft.metadata.resourceVersion !== metadata.resourceVersion) throw new OperatorError("KubeConflict", "stale");
    return this.#store(draft, metadata.uid);
  }

  #store(draft: Draft<Lease>, uid: string): Lease {
    this.#version += 1;
    const metadata = { ...draft.metadata, namespace: "default", uid, resourceVersion: String(this.#version) };
    this.lease = structuredClone({ ...draft, metadata }) as Lease;
    return this.lease;
  }
}
