import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type AnsweringProxy, type Asked, type Instead, startAnsweringProxy } from "#kit/servers/answering-proxy.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, type Place, refused } from "./contract.ts";

// A store that is unreachable for a while, or limits the rate, in each phase of its use. Pauses are short (BRISK), so
// an outage lasts for a number of requests instead of a time.

const OPTIONS = { signal: never };

/** What a request is for. */
export type Phase = "look" | "whole" | "begin" | "part" | "commit" | "read" | "list" | "delete";

/** Differences between stores. */
export interface Dialect {
  readonly phaseOf: (asked: Asked) => Phase;
  /** Phases that this store has. */
  readonly phases: readonly Phase[];
  /** The store's own answer when it is too busy. */
  readonly busy: Exclude<Instead, string>;
}

/** Requests that an outage swallows: more than twice the attempts of a request to a store that never answered. */
const OUTAGE_REQUESTS = 12;

const PAGE = `<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>`;

/**
 * What a client receives during an outage. First the answer to a request that the store has carried out is lost. Then
 * comes the store's own answer, a load balancer's page, nothing at all, or a broken connection.
 */
function absences({ busy }: Dialect): readonly Instead[] {
  return [
    "lost",
    busy,
    { status: 503, headers: { "content-type": "text/html" }, body: PAGE },
    { status: 429, headers: { "retry-after": "1" }, body: "Too Many Requests" },
    "reset",
    { status: 502 },
    { status: 500, headers: { "content-type": "text/plain" }, body: "upstream connect error" },
  ];
}

/** @param placeAt creates a place reached at this port of loopback */
export function outageContract(
  name: string,
  dialect: Dialect,
  serverPort: () => number,
  placeAt: (port: number) => Promise<Place>,
): void {
  describe(`${name} during an outage`, () => {
    let proxy: AnsweringProxy;
    beforeAll(async () => {
      proxy = await startAnsweringProxy(serverPort());
    });
    afterEach(() => {
      proxy.instead = () => undefined;
    });
    afterAll(() => proxy.stop());

    /** Begins an outage of so many requests at the first request of this phase. @returns the requests without an answer */
    const awayFrom = (phase: Phase, requests: number, instead = absences(dialect)): { readonly swallowed: number } => {
      const seen = { swallowed: 0 };
      proxy.instead = (asked) => {
        if (seen.swallowed === 0 && dialect.phaseOf(asked) !== phase) return undefined;
        if (seen.swallowed >= requests) return undefined;
        return instead[seen.swallowed++ % instead.length];
      };
      return seen;
    };

    test.each(dialect.phases)("an outage that begins with a %s request passes without an error", async (phase) => {
      const store = await openPlace(await placeAt(proxy.port), BRISK);
      expect(await store.head("any", OPTIONS)).toBeUndefined();
      const seen = awayFrom(phase, OUTAGE_REQUESTS);
      const bodies = { small: bytesOf(5), large: bytesOf(20 * MIB) };
      for (const [key, bytes] of Object.entries(bodies)) {
        expect(await store.put(key, bodyOf(bytes), OPTIONS)).toEqual({ bytes: bytes.length });
        expect((await read(store.get(key, OPTIONS))).equals(bytes)).toBe(true);
      }
      expect(await listed(store)).toEqual(["large", "small"]);
      await store.delete("large", OPTIONS);
      expect(await listed(store)).toEqual(["small"]);
      expect(seen.swallowed).toBe(OUTAGE_REQUESTS);
      await store.close();
    });

    test("a store that never answered is given up after five attempts", async () => {
      const store = await openPlace(await placeAt(proxy.port), BRISK);
      const seen = awayFrom("look", OUTAGE_REQUESTS, [{ status: 503 }]);
      expect(await refused(store.put("small", bodyOf(bytesOf(5)), OPTIONS))).toBe("Unreachable");
      expect(seen.swallowed).toBe(BRISK.attempts);
      await store.close();
    });

    test("an outage that is longer than all retries is reported as Unreachable", async () => {
      const store = await openPlace(await placeAt(proxy.port), { ...BRISK, giveUpMs: 300 });
      awayFrom("part", Number.POSITIVE_INFINITY);
      expect(await refused(store.put("large", bodyOf(bytesOf(20 * MIB)), OPTIONS))).toBe("Unreachable");
      await store.close();
    });
  });
}

async function listed(store: ObjectStore): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list("", OPTIONS)) keys.push(key);
  return keys.sort();
}
