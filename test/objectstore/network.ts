import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FaultProxy, startFaultProxy } from "#kit/servers/fault-proxy.ts";
import { freePort } from "#kit/servers/free-port.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import type { Patience } from "#objectstore/patience.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, IMPATIENT, never, openPlace, type Place, refused } from "./contract.ts";

// Calls over a bad network. Volumes have no such test: a call that hangs there hangs in the kernel.

const OPTIONS = { signal: never };
/** Far more than IMPATIENT and BRISK allow, so that a busy machine passes. */
const SOON_MS = 20_000;

/** @param placeAt creates a place reached at this port of loopback */
export function networkContract(
  name: string,
  serverPort: () => number,
  placeAt: (port: number) => Promise<Place>,
): void {
  const openAt = async (port: number, patience: Patience) => openPlace(await placeAt(port), patience);

  /** This place, reached without the proxy. */
  const directly = ({ location, ...rest }: Place): Place => {
    const { endpoint } = location as { endpoint: string };
    return {
      ...rest,
      location: { ...location, endpoint: endpoint.replace(/:\d+/, `:${serverPort()}`) } as StoreLocation,
    };
  };

  describe(`${name} behind a bad network`, () => {
    let proxy: FaultProxy;
    beforeAll(async () => {
      proxy = await startFaultProxy(serverPort());
    });
    afterAll(() => proxy.stop());

    /** Checks that `work` is refused for `reason` within SOON_MS. */
    const refusedSoon = async (reason: string, work: Promise<unknown>) => {
      const sinceMs = performance.now();
      expect(await refused(work)).toBe(reason);
      expect(performance.now() - sinceMs).toBeLessThan(SOON_MS);
    };

    test("a port without a server is reported as Unreachable", async () => {
      const store = await openAt(await freePort(), BRISK);
      await refusedSoon("Unreachable", store.put("a", bodyOf(bytesOf(5)), OPTIONS));
      await refusedSoon("Unreachable", read(store.get("a", OPTIONS)));
      await refusedSoon("Unreachable", store.head("a", OPTIONS));
      await store.close();
    });

    test("a server that accepts connections and does not answer is reported as Timeout, for every call", async () => {
      const store = await openAt(proxy.port, IMPATIENT);
      proxy.freeze();
      try {
        const listed = async () => {
          for await (const _ of store.list("", OPTIONS)) throw new Error("something is listed");
        };
        await Promise.all([
          refusedSoon("Timeout", store.put("a", bodyOf(bytesOf(5)), OPTIONS)),
          refusedSoon("Timeout", read(store.get("a", OPTIONS))),
          refusedSoon("Timeout", store.head("a", OPTIONS)),
          refusedSoon("Timeout", store.delete("a", OPTIONS)),
          refusedSoon("Timeout", listed()),
        ]);
      } finally {
        proxy.thaw();
        proxy.reset();
      }
      await store.close();
    });

    test("a hanging call ends when its signal is aborted", async () => {
      const store = await openAt(proxy.port, { ...IMPATIENT, answerMs: 60_000 });
      proxy.freeze();
      try {
        const signal = AbortSignal.timeout(300);
        await Promise.all([
          refusedSoon("Aborted", store.put("a", bodyOf(bytesOf(5)), { signal })),
          refusedSoon("Aborted", read(store.get("a", { signal }))),
        ]);
      } finally {
        proxy.thaw();
        proxy.reset();
      }
      await store.close();
    });

    test("a server that stops answering during a write is reported as Timeout, and there is no object", async () => {
      const place = await placeAt(proxy.port);
      const store = await openPlace(place, { ...IMPATIENT, giveUpMs: 0 });
      const large = bytesOf(30 * MIB);
      async function* freezing() {
        yield* bodyOf(large.subarray(0, 20 * MIB));
        proxy.freeze();
        yield* bodyOf(large.subarray(20 * MIB));
      }
      await refusedSoon("Timeout", store.put("hanging", freezing(), OPTIONS));
      proxy.thaw();
      proxy.reset();
      await store.close();
      const other = await openPlace(place, BRISK);
      expect(await other.head("hanging", OPTIONS)).toBeUndefined();
      await other.close();
    });

    test("a server that shuts down during a write is reported as Unreachable", async () => {
      const gone = await startFaultProxy(serverPort());
      const store = await openAt(gone.port, { ...BRISK, giveUpMs: 1_000 }); // Not IMPATIENT: 20 MiB may take over a second.
      async function* leaving() {
        yield* bodyOf(bytesOf(20 * MIB));
        await gone.stop();
        yield* bodyOf(bytesOf(20 * MIB));
      }
      await refusedSoon("Unreachable", store.put("gone", leaving(), OPTIONS));
      await store.close();
    });

    test("a write continues after broken connections, and the object is complete", async () => {
      const store = await openAt(proxy.port, BRISK);
      const large = bytesOf(40 * MIB);
      async function* breaking() {
        for (let at = 0; at < large.length; at += 10 * MIB) {
          yield* bodyOf(large.subarray(at, at + 10 * MIB));
          proxy.reset();
        }
      }
      expect(await store.put("broken", breaking(), OPTIONS)).toEqual({ bytes: large.length });
      expect((await read(store.get("broken", OPTIONS))).equals(large)).toBe(true);
      await store.close();
    });

    test("a completed write succeeds even if its answer is lost", async () => {
      const store = await openAt(proxy.port, { ...BRISK, backoff: { firstMs: 500, maxMs: 500, factor: 2, jitter: 0 } });
      for (const size of [5, 20 * MIB]) {
        const bytes = bytesOf(size);
        let lift = Promise.resolve();
        async function* losing() {
          yield* bodyOf(bytes.subarray(0, -1));
          // Parts that were sent are answered before the last byte is sent.
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          proxy.cutAfter(0);
          const before = proxy.opened;
          lift = (async () => {
            for (let n = 0; n < 400 && proxy.opened <= before; n++) await new Promise((done) => setTimeout(done, 5));
            await new Promise((done) => setTimeout(done, 200));
            proxy.cutAfter(undefined);
          })();
          yield* bodyOf(bytes.subarray(-1));
        }
        expect(await store.put(`lost/${size}`, losing(), OPTIONS)).toEqual({ bytes: size });
        await lift;
        expect((await read(store.get(`lost/${size}`, OPTIONS))).equals(bytes)).toBe(true);
      }
      await store.close();
    });

    test("a read continues after a broken connection without gap or repetition", async () => {
      const store = await openAt(proxy.port, BRISK);
      const large = bytesOf(20 * MIB);
      await store.put("read", bodyOf(large), OPTIONS);
      let got = 0;
      let breaks = 0;
      const chunks: Uint8Array[] = [];
      for await (const chunk of store.get("read", { ...OPTIONS, from: 7 })) {
        chunks.push(chunk);
        got += chunk.length;
        if (got > (breaks + 1) * 4 * MIB) {
          breaks++;
          proxy.reset();
        }
      }
      expect(breaks).toBeGreaterThan(3);
      expect(Buffer.concat(chunks).equals(large.subarray(7))).toBe(true);
      await store.close();
    });

    test("a read fails instead of mixing two objects when the object was replaced and the connection breaks", async () => {
      const place = await placeAt(proxy.port);
      const store = await openPlace(place, BRISK);
      const other = await openPlace(directly(place), BRISK);
      await store.put("replaced", bodyOf(bytesOf(20 * MIB)), OPTIONS);
      let got = 0;
      const reading = async () => {
        proxy.cutAfter(5 * MIB); // Socket buffers may hold more than the object.
        for await (const chunk of store.get("replaced", OPTIONS)) {
          if (got === 0) {
            await other.delete("replaced", OPTIONS);
            await other.put("replaced", bodyOf(bytesOf(20 * MIB)), OPTIONS);
            proxy.cutAfter(undefined);
            proxy.reset();
          }
          got += chunk.length;
        }
      };
      expect(await refused(reading())).toBe("NoSuchObject");
      expect(got).toBeLessThan(20 * MIB);
      await Promise.all([store.close(), other.close()]);
    });

    test("a read that hangs halfway is reported as Timeout", async () => {
      const place = await placeAt(proxy.port);
      const writer = await openPlace(place, BRISK);
      await writer.put("stuck", bodyOf(bytesOf(20 * MIB)), OPTIONS);
      await writer.close();
      const store = await openPlace(place, IMPATIENT);
      const stuck = async () => {
        for await (const _ of store.get("stuck", OPTIONS)) proxy.freeze();
      };
      await refusedSoon("Timeout", stuck());
      proxy.thaw();
      proxy.reset();
      await store.close();
    });
  });
}
