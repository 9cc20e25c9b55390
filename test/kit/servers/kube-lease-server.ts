import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import type { CallOptions, JsonPatch, PatchOptions } from "#kube/client.ts";
import type { Draft, KubeObject, Lease, Ref, Resource } from "#kube/kinds.ts";
import type { LeaseClient } from "#kube/lease.ts";

/** The fate of one call. */
export type Fate = "arrives" | "lost" | "reply-lost" | "late";

/** The signal of a server that cannot know whether its client still waits. */
const NEVER = new AbortController().signal;

/** One lease on a server with optimistic locking, and a network that loses calls and replies as a test wants. */
export class LeaseServer {
  lease: Lease | undefined;
  /** Delays storing a change; a patch is repeated after a conflict, as on an API server. undefined: no delay */
  store: (() => Promise<void>) | undefined;
  /** Delays a late call; then the call is carried out, whether or not its caller has given up. */
  heldUp: () => Promise<void> = () => Promise.resolve();
  #version = 0;

  /** A client for calls with the fates that `fate` returns; each way takes the time of `travel`. */
  client(fate: () => Fate, travel: () => Promise<void>): LeaseClient {
    const call = async <T>(work: (signal: AbortSignal) => T | Promise<T>, { signal }: CallOptions): Promise<T> => {
      const met = fate();
      await travel();
      if (met === "lost") throw new OperatorError("KubeUnavailable", "the call was lost");
      if (met === "late") await this.heldUp();
      const result = await work(met === "late" ? NEVER : signal);
      await travel();
      if (signal.aborted) throw new OperatorError("Cancelled", "the caller has left"); // although the change was made
      if (met === "reply-lost") throw new OperatorError("KubeUnavailable", "the reply was lost");
      return result;
    };
    return {
      get: <T extends KubeObject>(_resource: Resource<T>, _ref: Ref, options: CallOptions) =>
        call(() => this.#read() as unknown as T, options),
      create: <T extends KubeObject>(_resource: Resource<T>, draft: Draft<T>, options: CallOptions) =>
        call(() => this.#create(draft as unknown as Draft<Lease>) as unknown as T, options),
      replace: <T extends KubeObject>(_resource: Resource<T>, draft: Draft<T>, options: CallOptions) =>
        call(() => this.#replaced(draft as unknown as Draft<Lease>) as unknown as Promise<T>, options),
      patch: <T extends KubeObject>(_resource: Resource<T>, _ref: Ref, patch: object, options: PatchOptions) =>
        call((signal) => this.#patched(patch as readonly JsonPatch[], signal) as unknown as Promise<T>, options),
    };
  }

  async #replaced(draft: Draft<Lease>): Promise<Lease> {
    await this.store?.();
    return this.#replace(draft);
  }

  async #patched(patch: readonly JsonPatch[], signal: AbortSignal): Promise<Lease> {
    while (!signal.aborted) {
      const before = this.#read();
      const after = structuredClone(before);
      for (const each of patch) apply(after, each);
      await this.store?.();
      if (this.#read().metadata.resourceVersion === before.metadata.resourceVersion) return this.#replace(after);
    }
    throw new OperatorError("Cancelled", "the caller has left");
  }

  #read(): Lease {
    if (this.lease === undefined) throw new OperatorError("KubeNotFound", "no lease");
    return this.lease;
  }

  #create(draft: Draft<Lease>): Lease {
    if (this.lease !== undefined) throw new OperatorError("KubeAlreadyExists", "the lease exists");
    return this.#store(draft, `uid-${this.#version}`);
  }

  #replace(draft: Draft<Lease>): Lease {
    const { metadata } = this.#read();
    if (draft.metadata.resourceVersion !== metadata.resourceVersion) throw new OperatorError("KubeConflict", "stale");
    return this.#store(draft, metadata.uid);
  }

  #store(draft: Draft<Lease>, uid: string): Lease {
    this.#version += 1;
    const metadata = { namespace: "default", ...draft.metadata, uid, resourceVersion: String(this.#version) };
    this.lease = structuredClone({ ...draft, metadata }) as Lease;
    return this.lease;
  }
}

/** A client for callers that give up at the deadline, or when their signal aborts. A call already sent continues. */
export function bounded(client: LeaseClient, clock: Clock): LeaseClient {
  const end = <T, Options extends CallOptions>(
    send: (options: Options) => Promise<T>,
    options: Options,
  ): Promise<T> => {
    const { signal, deadlineMs = 10_000 } = options;
    const gone = new AbortController();
    const call = send({ ...options, signal: gone.signal });
    const over = Promise.withResolvers<never>();
    const cancel = clock.after(deadlineMs, () =>
      over.reject(new OperatorError("KubeUnavailable", "no answer in time")),
    );
    const leave = (): void => over.reject(new OperatorError("Cancelled", "the caller has left"));
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    return Promise.race([call, over.promise]).finally(() => {
      cancel();
      gone.abort(); // lets a server that has not made the change yet notice that its client has left
      signal.removeEventListener("abort", leave);
    });
  };
  return {
    get: (resource, ref, options) => end((bound) => client.get(resource, ref, bound), options),
    create: (resource, draft, options) => end((bound) => client.create(resource, draft, bound), options),
    replace: (resource, draft, options) => end((bound) => client.replace(resource, draft, bound), options),
    patch: (resource, ref, patch, options) => end((bound) => client.patch(resource, ref, patch, bound), options),
  };
}

/** A store that takes this long for each change, and keeps one of several concurrent changes. */
export function slowStore(clock: Clock, ms: number): () => Promise<void> {
  return () => clock.sleep(ms);
}

/** @throws OperatorError KubeInvalid for a failed test, or a path that does not exist */
function apply(lease: Lease, { op, path, value }: JsonPatch): void {
  const steps = path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = steps.pop() ?? "";
  let place = lease as unknown as Record<string, unknown> | undefined;
  for (const step of steps) place = place?.[step] as Record<string, unknown> | undefined;
  if (place === undefined || (op !== "add" && !(last in place)) || (op === "test" && place[last] !== value))
    throw new OperatorError("KubeInvalid", `the server rejected the patch: ${op} ${path}`);
  if (op === "remove") delete place[last];
  else if (op === "add") place[last] = value;
}
