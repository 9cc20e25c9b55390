import { OperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { type KubeObject, keyOf, type Ref } from "./kinds.ts";

/** Change of one object. After a deletion, `object` is the last known state. */
export interface Change<T> {
  readonly type: "added" | "modified" | "deleted";
  readonly object: T;
  /** State before the change; only with `modified`. */
  readonly previous?: T;
}

/** Index values of an object: none, one or several. */
export type IndexBy<T> = (object: T) => readonly string[];

/**
 * Objects of one kind by key, and the keys by index value. Every method that writes returns the changes. A new uid
 * under the same name gives a deleted and an added object.
 */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { readonly by: IndexBy<T>; readonly keys: Map<string, Set<string>> }>();

  constructor(indexes: Readonly<Record<string, IndexBy<T>>> = {}) {
    for (const [name, by] of Object.entries(indexes)) this.#indexes.set(name, { by, keys: new Map() });
  }

  get size(): number {
    return this.#objects.size;
  }

  get(ref: Ref): T | undefined {
    return this.#objects.get(keyOf(ref));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Objects under an index value, ordered by key, so that the result does not depend on the order of arrival. */
  byIndex(index: string, value: string): readonly T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new OperatorError("Bug", `there is no index "${index}"`);
    const keys = [...(found.keys.get(value) ?? [])].sort();
    return keys.map((key) => this.#objects.get(key)).filter((object) => object !== undefined);
  }

  /** Adds or replaces one object. There is no change if only the resourceVersion differs. */
  put(object: T): readonly Change<T>[] {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined && isSame(previous, object)) return [];
    if (previous !== undefined) this.#unindex(key, previous);
    this.#objects.set(key, object);
    this.#index(key, object);
    if (previous === undefined) return [{ type: "added", object }];
    if (previous.metadata.uid === object.metadata.uid)
      return isSameContent(previous, object) ? [] : [{ type: "modified", object, previous }];
    return [
      { type: "deleted", object: previous },
      { type: "added", object },
    ];
  }

  /** Removes the object of this name. The change carries `object`, the state at deletion, if its uid is the same. */
  remove(object: T): readonly Change<T>[] {
    const isIt = ({ metadata }: T): boolean => metadata.uid === object.metadata.uid;
    return this.drop(object.metadata).map((gone) => (isIt(gone.object) ? { ...gone, object } : gone));
  }

  /** Removes the object of this name. The change carries the state that was stored here. */
  drop(ref: Ref): readonly Change<T>[] {
    const key = keyOf(ref);
    const object = this.#objects.get(key);
    if (object === undefined) return [];
    this.#unindex(key, object);
    this.#objects.delete(key);
    return [{ type: "deleted", object }];
  }

  /**
   * Makes `objects` the whole content, or that of one namespace.
   * @returns the changes, deletions first
   */
  replace(objects: readonly T[], namespace?: string): readonly Change<T>[] {
    const wanted = new Set(objects.map((object) => keyOf(object)));
    const isReplaced = ({ metadata }: T): boolean => namespace === undefined || metadata.namespace === namespace;
    const gone = this.list().filter((object) => isReplaced(object) && !wanted.has(keyOf(object)));
    return [...gone.flatMap(({ metadata }) => this.drop(metadata)), ...objects.flatMap((object) => this.put(object))];
  }

  #index(key: string, object: T): void {
    for (const { by, keys } of this.#indexes.values()) {
      for (const value of by(object)) {
        const set = keys.get(value) ?? new Set();
        keys.set(value, set.add(key));
      }
    }
  }

  #unindex(key: string, object: T): void {
    for (const { by, keys } of this.#indexes.values()) {
      for (const value of by(object)) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
    }
  }
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

/** Whether the kept fields are equal, apart from resourceVersion: the server may have changed only other fields. */
function isSameContent(a: KubeObject, b: KubeObject): boolean {
  const { resourceVersion } = a.metadata;
  return isSameData(a, { ...b, metadata: { ...b.metadata, resourceVersion } });
}
