type Change<S, A extends readonly unknown[], R> = (snapshot: S, ...rest: A) => R;

/** A snapshot and the changes made to it, in the order in which they are read. */
class Begun<S> {
  readonly snapshot: S;

  constructor(snapshot: S) {
    this.snapshot = snapshot;
  }

  /** The snapshot after this change. @param rest the arguments of the change after the snapshot */
  apply<A extends readonly unknown[], R>(change: Change<S, A, R>, ...rest: A): Begun<R> {
    return new Begun(change(this.snapshot, ...rest));
  }
}

/** Begins with a snapshot: `begin(cluster()).apply(withoutPeers, "my-etcd-2").apply(withBudget).snapshot`. */
export function begin<S>(snapshot: S): Begun<S> {
  return new Begun(snapshot);
}
