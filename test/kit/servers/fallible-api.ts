import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { answered } from "#kit/tables/answered.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { controllerOf, type KubeObject, type Ref, type Resource } from "#kube/kinds.ts";
import type { Written } from "#runtime/controller.ts";

export type Live = KubeObject & {
  metadata: { namespace: string; finalizers?: readonly string[]; deletionTimestamp?: string };
};

/** A write of an operator that was carried out. */
export interface ApiWrite {
  readonly verb: "create" | "replace" | "patch" | "delete";
  readonly plural: string;
  readonly name: string;
  readonly before: Live | undefined;
  readonly after: Live | undefined;
}

/**
 * before, after: the operator dies before or after the write, without its answer. With lost it lives and gets no
 * answer. With refused a policy refuses the write.
 */
export type Fault = "before" | "after" | "lost" | "refused";

const DEAD = () => new OperatorError("LeaseLost", "this process is dead");
const UNHEARD = () => new OperatorError("KubeUnavailable", "the connection broke");

/** An API server for operators that die at any of their writes, with their caches, which may be stale. */
export class FallibleApi {
  readonly clock: FakeClock;
  /** Writes of operators. */
  readonly writes: ApiWrite[] = [];
  /** Faults by number of the attempted write, from 1. */
  readonly faults = new Map<number, Fault>();
  tries = 0;
  isDead = false;
  /** Requests of operators and starts of their observations. Another event can come first at each of them. */
  readonly seen: { readonly is: "look" | "request"; readonly version: number }[] = [];
  readonly happenings = new Map<number, () => void>();
  readonly #objects = new Map<string, Live>();
  /** Content of the caches, by kind. */
  readonly #shown = new Map<string, ReadonlyMap<string, Live>>();
  /** Increases with every change. */
  version = 1_000;
  /** The version at the start of the current observation. */
  lookedFrom = 1_000;
  /** Deleted objects by kind and name, with the version of their last deletion. */
  readonly goneAt = new Map<string, { readonly version: number; readonly object: Live }>();

  constructor(startMs: number) {
    this.clock = new FakeClock(startMs);
  }

  /** The API server's admission of an operator's create. */
  protected admitted(_plural: string, draft: KubeObject): KubeObject {
    return draft;
  }

  /** Called after each write of an operator. */
  protected written(_write: ApiWrite): void {}

  find<T extends KubeObject>(plural: string, name: string): T | undefined {
    return this.#objects.get(`${plural}/${name}`) as unknown as T | undefined;
  }

  all<T extends KubeObject>(plural: string): readonly T[] {
    return [...this.#objects].flatMap(([key, object]) =>
      key.startsWith(`${plural}/`) ? [object as unknown as T] : [],
    );
  }

  /** Every object of the kind that existed at any moment of the current observation. */
  allOfLook<T extends KubeObject>(plural: string): readonly T[] {
    const gone = [...this.goneAt].filter(
      ([key, { version }]) => key.startsWith(`${plural}/`) && version > this.lookedFrom,
    );
    return [...this.all<T>(plural), ...gone.map(([, { object }]) => object as unknown as T)];
  }

  /** Stores the object, as any other client does. */
  put<T extends KubeObject>(plural: string, object: KubeObject): T {
    this.version += 1;
    const { uid = `uid-${this.version}`, creationTimestamp = rfc3339(this.clock.wallMs()) } =
      object.metadata as Partial<Live["metadata"]>;
    const metadata = { ...object.metadata, uid, creationTimestamp, resourceVersion: String(this.version) };
    this.#objects.set(`${plural}/${metadata.name}`, { ...object, metadata } as Live);
    this.#collect();
    return this.find<T>(plural, metadata.name) as T;
  }

  /** Deletes the object, as any other client does. An object with finalizers remains until they are removed. */
  remove(plural: string, name: string): void {
    const live = this.#objects.get(`${plural}/${name}`);
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) return;
    this.put(plural, {
      ...live,
      metadata: { ...live.metadata, deletionTimestamp: rfc3339(this.clock.wallMs()) },
    } as KubeObject);
  }

  /** Brings the caches of these kinds, or of all, up to date. */
  show(...plurals: readonly string[]): void {
    for (const [key] of this.#objects) {
      const plural = key.slice(0, key.indexOf("/"));
      if (!this.#shown.has(plural)) this.#shown.set(plural, new Map());
    }
    for (const plural of plurals.length > 0 ? plurals : this.#shown.keys())
      this.#shown.set(plural, new Map(this.all<Live>(plural).map((object) => [object.metadata.name, object])));
  }

  /**
   * The content of a cache.
   * @param labels by index: the label with the key, which follows the namespace
   */
  view(plural: string, labels: Readonly<Record<string, string>> = {}) {
    const shown = () => this.#shown.get(plural) ?? new Map<string, Live>();
    return {
      get: ({ name }: Ref) => shown().get(name),
      byIndex: (index: string, value: string) =>
        [...shown().values()].filter(
          ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[labels[index] ?? ""]}` === value,
        ),
    };
  }

  /** The operator's expectations: its caches show its own write before it decides again. */
  readonly expectations = {
    expect: (_: unknown, written: Written) => {
      if (written.kind === "stored" || written.kind === "deleted") this.show(written.resource.plural);
    },
    refused: (_: unknown, { plural }: { plural: string }) => this.show(plural),
    unmet: () => undefined,
  };

  /** Called before each request or observation of an operator. */
  moment(is: "look" | "request"): void {
    this.seen.push({ is, version: this.version });
    this.happenings.get(this.seen.length)?.();
  }

  /** The client of an operator, until it dies. */
  client() {
    return {
      list: ({ plural }: Resource<KubeObject>) => {
        this.moment("request");
        if (this.isDead) throw DEAD();
        return Promise.resolve({ items: this.all(plural), resourceVersion: String(this.version) });
      },
      find: ({ plural }: Resource<KubeObject>, { name }: Ref) => Promise.resolve(this.#read(plural, name)),
      get: ({ plural }: Resource<KubeObject>, { name }: Ref) => answered(this.#read(plural, name)),
      create: ({ plural }: Resource<KubeObject>, draft: KubeObject) =>
        this.#change("create", plural, draft.metadata.name, () => {
          if (this.find(plural, draft.metadata.name) !== undefined)
            throw new OperatorError("KubeAlreadyExists", `${plural} ${draft.metadata.name} is there`);
          this.put(plural, this.admitted(plural, draft));
        }),
      replace: ({ plural }: Resource<KubeObject>, object: Live & { status?: unknown }) =>
        this.#change("replace", plural, object.metadata.name, () => {
          const live = this.#same(plural, object.metadata.name, object.metadata);
          this.put(plural, { ...live, status: object.status } as unknown as KubeObject);
        }),
      patch: (
        { plural }: Resource<KubeObject>,
        { name }: Ref,
        { metadata }: { metadata: { annotations?: object } },
        { preconditions }: { preconditions: object },
      ) =>
        this.#change("patch", plural, name, () => {
          const live = this.#same(plural, name, preconditions);
          const annotations = { ...live.metadata.annotations, ...metadata.annotations };
          this.put(plural, { ...live, metadata: { ...live.metadata, ...metadata, annotations } } as KubeObject);
        }),
      delete: ({ plural }: Resource<KubeObject>, { name }: Ref, { preconditions }: { preconditions: object }) =>
        this.#change("delete", plural, name, () => {
          this.#same(plural, name, preconditions);
          this.remove(plural, name);
        }),
    };
  }

  #read(plural: string, name: string): Observed<KubeObject> {
    this.moment("request");
    if (this.isDead) throw DEAD();
    const live = this.find(plural, name);
    return live === undefined ? absent : present(live);
  }

  #change(verb: ApiWrite["verb"], plural: string, name: string, make: () => void): Promise<KubeObject | undefined> {
    this.moment("request");
    if (this.isDead) throw DEAD();
    this.tries += 1;
    const fault = this.faults.get(this.tries);
    if (fault === "refused") throw new OperatorError("KubeForbidden", "a policy forbids it");
    this.isDead = fault === "before" || fault === "after";
    if (fault === "before") throw DEAD();
    const before = this.find<Live>(plural, name);
    make();
    const after = this.find<Live>(plural, name);
    const write = { verb, plural, name, before, after };
    this.writes.push(write);
    this.written(write);
    if (fault !== undefined) throw UNHEARD();
    return Promise.resolve(after);
  }

  #same(plural: string, name: string, wanted: { uid?: string; resourceVersion?: string }): Live {
    const live = this.#objects.get(`${plural}/${name}`);
    if (live === undefined) throw new OperatorError("KubeNotFound", `${plural} ${name} is gone`);
    const { uid, resourceVersion } = { ...live.metadata, ...wanted };
    if (uid === live.metadata.uid && resourceVersion === live.metadata.resourceVersion) return live;
    throw new OperatorError("KubeConflict", `${plural} ${name} has changed`);
  }

  /** Removes deleted objects without finalizers, and their dependents. */
  #collect(): void {
    for (const [key, { metadata }] of this.#objects)
      if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
        this.goneAt.set(key, { version: this.version, object: this.#objects.get(key) as Live });
        this.#objects.delete(key);
      }
    const uids = new Set([...this.#objects.values()].map(({ metadata }) => metadata.uid));
    const orphan = [...this.#objects].find(([, object]) => {
      const owner = controllerOf(object);
      return owner !== undefined && !uids.has(owner.uid) && object.metadata.deletionTimestamp === undefined;
    });
    if (orphan === undefined) return;
    const [key, { metadata }] = orphan;
    this.remove(key.slice(0, key.indexOf("/")), metadata.name);
  }
}
