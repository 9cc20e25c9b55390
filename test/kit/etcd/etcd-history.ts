import { createClient } from "@connectrpc/connect";
import { Compare_CompareResult, Compare_CompareTarget, KV, Lease } from "#etcd/proto/etcdserverpb/rpc_pb.js";
import { connectTo } from "#etcd/snapshot-source.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const ALL = { key: new Uint8Array([0]), rangeEnd: new Uint8Array([0]) };

/** Makes the changes to an etcd that its users make. Every method returns the revision after it. */
export class EtcdUser implements Disposable {
  readonly #connection;
  readonly #kv;
  readonly #lease;
  readonly leases: bigint[] = [];

  constructor(url: string) {
    this.#connection = connectTo({ url });
    this.#kv = createClient(KV, this.#connection.transport);
    this.#lease = createClient(Lease, this.#connection.transport);
  }

  async put(key: string, value: string, lease = 0n): Promise<number> {
    return revisionIn(await this.#kv.put({ key: bytes(key), value: bytes(value), lease }));
  }

  /** Puts, and deletions of all keys with a prefix, in one transaction. */
  async change(puts: Readonly<Record<string, string>>, deleted: readonly string[] = []): Promise<number> {
    const success = [
      ...Object.entries(puts).map(([key, value]) => ({
        request: { case: "requestPut" as const, value: { key: bytes(key), value: bytes(value) } },
      })),
      ...deleted.map((prefix) => ({
        request: { case: "requestDeleteRange" as const, value: { key: bytes(prefix), rangeEnd: endOf(prefix) } },
      })),
    ];
    return revisionIn(await this.#kv.txn({ success }));
  }

  /** A transaction inside a transaction, of which one branch runs. */
  async nested(key: string, value: string): Promise<number> {
    const put = (at: string) => ({
      request: { case: "requestPut" as const, value: { key: bytes(at), value: bytes(value) } },
    });
    const compare = [
      {
        key: bytes("never there"),
        target: Compare_CompareTarget.VERSION,
        result: Compare_CompareResult.EQUAL,
        targetUnion: { case: "version" as const, value: 0n },
      },
    ];
    const inner = { compare, success: [put(`${key}/inner`)], failure: [put(`${key}/not`)] };
    const success = [put(key), { request: { case: "requestTxn" as const, value: inner } }];
    return revisionIn(await this.#kv.txn({ success }));
  }

  async deletePrefix(prefix: string): Promise<number> {
    return revisionIn(await this.#kv.deleteRange({ key: bytes(prefix), rangeEnd: endOf(prefix) }));
  }

  async deleteAll(): Promise<number> {
    return revisionIn(await this.#kv.deleteRange(ALL));
  }

  async compact(revision: number): Promise<void> {
    await this.#kv.compact({ revision: BigInt(revision), physical: true });
  }

  async grant(seconds: number): Promise<bigint> {
    const { ID } = await this.#lease.leaseGrant({ TTL: BigInt(seconds) });
    return ID;
  }

  async revoke(lease: bigint): Promise<number> {
    await this.#lease.leaseRevoke({ ID: lease });
    return await this.revision();
  }

  /** Granted TTL of the lease in seconds, and its keys. */
  async lease(ID: bigint): Promise<{ readonly ttl: number; readonly keys: readonly string[] }> {
    const { grantedTTL, keys } = await this.#lease.leaseTimeToLive({ ID, keys: true });
    return { ttl: Number(grantedTTL), keys: keys.map((key) => new TextDecoder().decode(key)) };
  }

  async revision(): Promise<number> {
    return revisionIn(await this.#kv.range({ ...ALL, countOnly: true }));
  }

  async keys(): Promise<number> {
    return Number((await this.#kv.range({ ...ALL, countOnly: true })).count);
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

function revisionIn({ header }: { readonly header?: { readonly revision: bigint } | undefined }): number {
  return Number(header?.revision);
}

function endOf(prefix: string): Uint8Array {
  const end = bytes(prefix);
  end[end.length - 1]! += 1;
  return end;
}

/** Pseudo-random numbers: the same for the same seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return Math.floor((state / 0x8000_0000) * below);
  };
}

/**
 * One random step of a history.
 * @returns the revision after it
 */
export async function randomStep(user: EtcdUser, random: (below: number) => number, step: number): Promise<number> {
  const key = `k/${random(20)}`;
  const value = "v".repeat(random(3)) + random(1_000).toString();
  switch (random(11)) {
    case 0:
      return await user.change({ [key]: value, [`${key}/b`]: value, [`other/${step}`]: "" }, [`gone/${random(3)}`]);
    case 1:
      return await user.deletePrefix(`k/${random(10)}`);
    case 2:
      return await user.deletePrefix("nobody/has/this");
    case 3: {
      const lease = await user.grant(60 + random(1_000));
      user.leases.push(lease);
      await user.put(`gone/${random(3)}/${step}`, value, lease);
      return await user.put(key, value, lease);
    }
    case 4: {
      const lease = user.leases.splice(random(user.leases.length), 1)[0];
      return lease === undefined ? await user.put(key, value) : await user.revoke(lease);
    }
    case 5:
      await user.put(key, "same");
      return await user.put(key, "same");
    case 6:
      return await user.nested(key, value);
    case 7: {
      const puts = Array.from({ length: 1 + random(120) }, (_, n) => [`many/${n}`, value]);
      return await user.change(Object.fromEntries(puts));
    }
    case 8:
      return await user.deletePrefix("many/");
    default:
      return await user.put(key, value);
  }
}
