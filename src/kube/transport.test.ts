import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { Clock } from "#base/clock.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeConfig } from "./config.ts";
import { DEFAULT_IN_FLIGHT } from "./in-flight.ts";
import { namespaceIn } from "./path.ts";
import { type HttpRequest, httpTransport, type Transport } from "./transport.ts";

/** Requests with other credentials would have their own connections. */
const SAME = { tls: {} };

/**
 * A server that answers soon. Paths ending in `/hang` get no answer, `/half` gets a part of one, `/long` gets 33 MiB.
 */
class Slow {
  /** Most connections that were open at the same time. */
  most = 0;
  /** Connections that were made. */
  made = 0;
  readonly #server: Server;
  #standing = 0;

  constructor() {
    this.#server = createServer((request, answer) => void this.#answer(request, answer));
    this.#server.on("connection", (socket) => {
      this.made += 1;
      this.#standing += 1;
      this.most = Math.max(this.most, this.#standing);
      socket.once("close", () => {
        this.#standing -= 1;
      });
    });
  }

  async #answer({ url }: IncomingMessage, answer: ServerResponse): Promise<void> {
    if (url?.endsWith("/hang") === true) return;
    if (url?.endsWith("/half") === true) return void answer.write("{");
    if (url?.endsWith("/long") === true) return void answer.end(Buffer.alloc(33 * 1024 * 1024, "1"));
    await sleep(20);
    answer.end("{}");
  }

  /** @param credentials read before each request */
  async listen(credentials = () => Promise.resolve(SAME), clock?: Clock): Promise<Transport> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return httpTransport({ server, credentials } as unknown as KubeConfig, {}, clock);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let slow: Slow;
let transport: Transport;
const stop = new AbortController();

afterEach(async () => {
  await transport.close();
  slow.close();
});

function asked(path: string, lane: HttpRequest["lane"] = "calls", signal = stop.signal): Promise<string> {
  const sent = transport.send({ method: "GET", path, headers: {}, lane, signal });
  return sent.then((answer) => answer.text());
}

test("two hundred concurrent calls share at most 40 connections, and all are answered", async () => {
  slow = new Slow();
  transport = await slow.listen(undefined, new FakeClock()); // A clock that stands still: no call is slow, however busy the machine is.
  const answers = await Promise.all(Array.from({ length: 200 }, () => asked("/")));
  expect(new Set(answers)).toEqual(new Set(["{}"]));
  expect(slow.most).toBeGreaterThan(16);
  expect(slow.most).toBeLessThanOrEqual(40);
});

test("hanging calls delay other calls by at most 400 ms, and urgent calls and lists not at all", async () => {
  slow = new Slow();
  const clock = new FakeClock();
  transport = await slow.listen(undefined, clock);
  const ended = new AbortController();
  const hanging = Array.from({ length: 64 }, () => asked("/hang", "calls", ended.signal).catch(() => undefined));
  const answered: string[] = [];
  const behind = asked("/").then(() => answered.push("behind those that hang"));
  await asked("/", "urgent").then(() => answered.push("urgent"));
  await asked("/", "state").then(() => answered.push("state"));
  await clock.advance(399);
  expect(answered).toEqual(["urgent", "state"]);
  await clock.advance(1);
  await behind;
  ended.abort(new Error("enough"));
  await Promise.all(hanging);
  expect(await Promise.all(Array.from({ length: 32 }, () => asked("/")))).toHaveLength(32);
});

test("a call waits behind other calls of its own namespace, and other namespaces' calls begin before it", async () => {
  slow = new Slow();
  const clock = new FakeClock();
  transport = await slow.listen(undefined, clock);
  const ended = new AbortController();
  const first = new AbortController();
  const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
  const hang = (signal: AbortSignal) => asked(`${pods("slow")}/hang`, "calls", signal).catch(() => undefined);
  const hanging = [hang(first.signal), ...Array.from({ length: 64 }, () => hang(ended.signal))];
  const other = asked(pods("other"));
  await clock.advance(0);
  first.abort(new Error("enough"));
  expect(await other).toBe("{}");
  ended.abort(new Error("enough"));
  await Promise.all(hanging);
});

test("calls of other namespaces get connections while 600 calls of one namespace hang", async () => {
  slow = new Slow();
  const clock = new FakeClock();
  transport = await slow.listen(undefined, clock);
  const ended = new AbortController();
  const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
  const hang = () => asked(`${pods("slow")}/hang`, "calls", ended.signal).catch(() => undefined);
  const hanging = Array.from({ length: 600 }, hang);
  await clock.advance(5_000);
  const isTheirs = Promise.all(Array.from({ length: 32 }, (_, n) => asked(pods(`other-${n}`))));
  expect(new Set(await isTheirs)).toEqual(new Set(["{}"]));
  expect(slow.most).toBeLessThan(DEFAULT_IN_FLIGHT.inAll);
  ended.abort(new Error("enough"));
  await Promise.all(hanging);
});

/** Requests that are sent and not answered. */
class Unanswered {
  /** Functions by which each of them gives up its connections. */
  readonly giveUps: (() => void)[] = [];
  readonly #ended = new AbortController();
  readonly #hanging: Promise<unknown>[] = [];

  async send(): Promise<void> {
    const { promise: sent, resolve } = Promise.withResolvers<() => void>();
    const request = { method: "GET", path: "/hang", headers: {}, lane: "calls", onSending: resolve } as const;
    this.#hanging.push(transport.send({ ...request, signal: this.#ended.signal }).catch(() => undefined));
    this.giveUps.push(await sent);
  }

  /** Sends a request. Its answer has begun when the promise settles, and does not end. */
  async sendHalf(): Promise<void> {
    const onSending = (giveUp: () => void): unknown => this.giveUps.push(giveUp);
    const request = { method: "GET", path: "/half", headers: {}, lane: "calls", onSending } as const;
    const answer = await transport.send({ ...request, signal: this.#ended.signal });
    this.#hanging.push(answer.text().catch(() => undefined));
  }

  async end(): Promise<void> {
    this.#ended.abort(new Error("enough"));
    await Promise.all(this.#hanging);
  }
}

test("only the first unanswered request on a set of connections closes these, idle connections included", async () => {
  slow = new Slow();
  transport = await slow.listen();
  const unanswered = new Unanswered();
  await asked("/");
  await Promise.all([asked("/"), asked("/")]);
  await unanswered.send();
  await unanswered.send();
  expect(slow.made).toBe(2);
  unanswered.giveUps[0]?.();
  await asked("/");
  expect(slow.made).toBe(3);
  unanswered.giveUps[1]?.();
  unanswered.giveUps[0]?.();
  await asked("/");
  expect(slow.made).toBe(3);
  await unanswered.end();
});

test("an unanswered request does not close connections on which a later request was answered", async () => {
  slow = new Slow();
  transport = await slow.listen();
  const unanswered = new Unanswered();
  await unanswered.send();
  await asked("/");
  await unanswered.send();
  expect(slow.made).toBe(2);
  await asked("/");
  for (const giveUp of unanswered.giveUps) giveUp();
  await asked("/");
  expect(slow.made).toBe(3);
  await unanswered.end();
});

test("a request with a stalled response closes its connections, unless a later request was answered on them", async () => {
  slow = new Slow();
  transport = await slow.listen();
  const unanswered = new Unanswered();
  await asked("/");
  await unanswered.sendHalf();
  await asked("/");
  expect(slow.made).toBe(2);
  unanswered.giveUps[0]?.();
  await Promise.all([asked("/"), asked("/")]);
  expect(slow.made).toBe(3);
  await unanswered.sendHalf();
  unanswered.giveUps[1]?.();
  await asked("/");
  expect(slow.made).toBe(4);
  await unanswered.end();
});

test("a call reports when its turn comes and when it is sent", async () => {
  slow = new Slow();
  transport = await slow.listen(undefined, new FakeClock());
  const ended = new AbortController();
  const hang = () => asked("/hang", "calls", ended.signal).catch(() => undefined);
  const hanging = Array.from({ length: DEFAULT_IN_FLIGHT.most }, hang);
  const reported: string[] = [];
  const onTurn = () => reported.push("its turn");
  const onSending = () => reported.push("sending");
  const request = { method: "GET", path: "/", headers: {}, signal: stop.signal, onTurn, onSending } as const;
  await transport.send({ ...request, lane: "urgent" });
  expect(reported.splice(0)).toEqual(["its turn", "sending"]);
  const behind = transport.send({ ...request, lane: "calls" });
  await asked("/", "urgent");
  expect(reported).toEqual([]);
  ended.abort(new Error("enough"));
  await Promise.all([...hanging, behind]);
  expect(reported).toEqual(["its turn", "sending"]);
});

test.each([
  ["/api/v1/namespaces/foo/pods/x", "foo"],
  ["/apis/etcd.example.com/v1/namespaces/foo/etcdclusters/x/status?fieldManager=y", "foo"],
  ["/api/v1/namespaces/foo/pods?limit=500", "foo"],
  ["/api/v1/namespaces/foo", ""],
  ["/api/v1/pods?continue=/namespaces/foo/", ""],
  ["/readyz", ""],
])("the object at path %s has namespace %j", (path, namespace) => {
  expect(namespaceIn(path)).toBe(namespace);
});

test("the last of eighteen lease calls is answered while all others hang", async () => {
  slow = new Slow();
  transport = await slow.listen();
  const ended = new AbortController();
  const hanging = Array.from({ length: 17 }, () => asked("/hang", "urgent", ended.signal).catch(() => undefined));
  const behind = new AbortController();
  const late = setTimeout(() => behind.abort(new Error("it waits behind those that hang")), 2_000);
  expect(await asked("/", "urgent", behind.signal)).toBe("{}");
  clearTimeout(late);
  ended.abort(new Error("enough"));
  await Promise.all(hanging);
});

test("a waiting call that is cancelled fails with the reason, and is not sent", async () => {
  slow = new Slow();
  transport = await slow.listen();
  const ended = new AbortController();
  const hanging = Array.from({ length: 32 }, () => asked("/hang", "calls", ended.signal).catch(() => undefined));
  const impatient = new AbortController();
  const waiting = expect(asked("/", "calls", impatient.signal)).rejects.toThrow("no longer");
  impatient.abort(new Error("no longer"));
  await waiting;
  ended.abort(new Error("enough"));
  await Promise.all(hanging);
  expect(slow.most).toBeLessThanOrEqual(32);
});

test("calls that fail for lack of credentials free their places", async () => {
  slow = new Slow();
  let areThere = false;
  const credentials = () => (areThere ? Promise.resolve({ tls: {} }) : Promise.reject(new Error("no token")));
  const clock = new FakeClock(); // A clock that stands still: no call is slow.
  transport = await slow.listen(credentials, clock);
  const refused = await Promise.allSettled(Array.from({ length: DEFAULT_IN_FLIGHT.most }, () => asked("/")));
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  areThere = true;
  expect(await asked("/")).toBe("{}");
});

test("a response that exceeds the size limit fails with an error of its own", async () => {
  slow = new Slow();
  transport = await slow.listen();
  await expect(asked("/long")).rejects.toMatchObject({ name: "TransportError", isTooLong: true, sent: true });
  expect(await asked("/")).toBe("{}");
});
