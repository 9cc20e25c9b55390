import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { answerWithin, type ConnectionLimits } from "#base/connection-limit.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";

const HOST = "server.example";
const LIMITS: ConnectionLimits = { most: 6, ofAddress: 2, exchangeWithinMs: 1_000 };

/** A client in its own thread that sends 200 requests on one connection, each as soon as it has the previous answer. */
const CLIENT = `
  const { parentPort, workerData } = require("node:worker_threads");
  let answers = 0;
  const socket = require("node:tls").connect({ host: "127.0.0.1", ...workerData });
  const ask = () => socket.write("GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");
  socket.on("data", () => (++answers < 200 ? ask() : socket.end()));
  socket.on("error", () => undefined);
  socket.on("close", () => parentPort.postMessage(answers));
  ask();
`;

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number;
  destroyed = false;

  constructor(remoteAddress: string | undefined, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  /** Emits its close later, as a socket does. */
  destroy(): void {
    this.destroyed = true;
  }

  close(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

class FakeResponse extends EventEmitter {
  writableEnded = false;

  end(): void {
    this.writableEnded = true;
  }

  /** The client has the whole answer. */
  close(): void {
    this.end();
    this.emit("close");
  }
}

/** A server of fake connections. `b2` is the connection from port 2 of address b. */
class FakeServer {
  readonly server = new EventEmitter() as Server;
  readonly answered: string[] = [];
  readonly #sockets = new Map<string, FakeSocket>();
  readonly #names = new Map<object, string>();

  constructor(limits: Partial<ConnectionLimits> = {}) {
    answerWithin({ ...LIMITS, ...limits }, this.server, ({ socket }) => {
      this.answered.push(this.#names.get(socket) ?? "");
    });
  }

  /** Open connections, in order of arrival. */
  get open(): string {
    return [...this.#sockets].flatMap(([name, { destroyed }]) => (destroyed ? [] : name)).join(" ");
  }

  connect(name: string): FakeSocket {
    const socket = new FakeSocket(name.slice(0, 1), Number(name.slice(1)));
    this.#sockets.set(name, socket);
    this.#names.set(socket, name);
    this.server.emit("connection", socket as unknown as Socket);
    return socket;
  }

  socket(name: string): FakeSocket {
    const socket = this.#sockets.get(name);
    if (socket === undefined) throw new Error(`there is no connection ${name}`);
    return socket;
  }

  ask(name: string): FakeResponse {
    const response = new FakeResponse();
    const request = { socket: this.socket(name) } as unknown as IncomingMessage;
    this.server.emit("request", request, response as unknown as ServerResponse);
    return response;
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("which connection is closed for a new one", () => {
  // `a1!` has a request that is being answered.
  const three = { ofAddress: 3 };
  test.each<[string, string, string, string, Partial<ConnectionLimits>?]>([
    ["none while there is room", "a1 a2 b1", "b2", "a1 a2 b1 b2"],
    ["none when the new one reaches the limit", "a1 a2 b1 b2 c1", "c2", "a1 a2 b1 b2 c1 c2"],
    ["the oldest idle one of its address when that address is at its limit", "b1 a1 a2", "a3", "b1 a2 a3"],
    ["an idle one, and not an older busy one", "a1! a2", "a3", "a1 a3"],
    ["the new one when all of its address are busy", "a1! a2! b1 b2 c1 c2", "a3", "a1 a2 b1 b2 c1 c2"],
    [
      "at the total limit the oldest idle one of the address with the most",
      "c1 a1 a2 b1 b2 b3",
      "d1",
      "c1 a1 a2 b2 b3 d1",
      three,
    ],
    [
      "an idle one of the next address when those of the first are busy",
      "c1 a1 a2 b1! b2! b3!",
      "d1",
      "c1 a2 b1 b2 b3 d1",
      three,
    ],
    ["an idle one rather than a busy one", "a1! a2! b1! b2! c1! c2", "d1", "a1 a2 b1 b2 c1 d1"],
    [
      "an idle one of its own address rather than of addresses with as many",
      "b1 b2 a1 a2 c1 c2",
      "a3",
      "b1 b2 a2 c1 c2 a3",
      three,
    ],
    [
      "the new one rather than an idle one of an address with as many",
      "a1! a2! b1 b2 c1 c2",
      "a3",
      "a1 a2 b1 b2 c1 c2",
      three,
    ],
    [
      "the new one rather than an idle one of an address with fewer",
      "a1! a2! b1! b2! b3! c1",
      "a3",
      "a1 a2 b1 b2 b3 c1",
      three,
    ],
    [
      "when all are busy, the oldest one of the address with the most",
      "c1! a1! a2! b1! b2! b3!",
      "d1",
      "c1 a1 a2 b2 b3 d1",
      three,
    ],
    ["when all are busy, one of an address with two more", "c1! a1! a2! b1! b2! b3!", "c2", "c1 a1 a2 b2 b3 c2", three],
    [
      "when all are busy, the new one rather than one of an address with one more",
      "c1! a1! a2! b1! b2! b3!",
      "a3",
      "c1 a1 a2 b1 b2 b3",
      three,
    ],
    ["when all are busy, the new one if each address has one", "a1! b1! c1!", "d1", "a1 b1 c1", { most: 3 }],
  ])("%s", (_name, before, added, after, limits = {}) => {
    const fake = new FakeServer(limits);
    for (const each of before.split(" ")) {
      fake.connect(each.slice(0, 2));
      if (each.endsWith("!")) fake.ask(each.slice(0, 2));
    }
    fake.connect(added);
    expect(fake.open).toBe(after);
  });

  test("a connection that has ended does not count", () => {
    const fake = new FakeServer();
    for (const name of ["a1", "a2"]) {
      fake.connect(name);
      fake.ask(name);
    }
    fake.socket("a1").close();
    fake.connect("a3");
    expect(fake.open).toBe("a2 a3");
  });

  test("a connection that is being closed makes no room, since its memory is still in use", () => {
    const fake = new FakeServer();
    fake.connect("a1").destroy();
    fake.connect("a2");
    fake.connect("a3");
    expect(fake.open).toBe("a3");
  });

  test("a connection that was closed for a new one counts once when its end is reported later", () => {
    const fake = new FakeServer();
    const first = fake.connect("a1");
    for (const name of ["a2", "a3"]) {
      fake.connect(name);
      fake.ask(name);
    }
    first.close();
    fake.connect("a4");
    expect(fake.open).toBe("a2 a3");
  });

  test("a connection without an address is closed at once", () => {
    const fake = new FakeServer();
    const socket = new FakeSocket(undefined, 1);
    fake.server.emit("connection", socket as unknown as Socket);
    expect(socket.destroyed).toBe(true);
  });

  test("the server accepts a few connections above the limit, and closes them itself", () => {
    expect(new FakeServer().server.maxConnections).toBe(70);
  });
});

describe("requests on one connection", () => {
  test("a second request before the response closes the connection", () => {
    const fake = new FakeServer();
    fake.connect("a1");
    fake.ask("a1");
    fake.ask("a1");
    expect([fake.open, fake.answered]).toEqual(["", ["a1"]]);
  });

  test("a second request after the response is answered before the end of the first is reported", () => {
    const fake = new FakeServer();
    fake.connect("a1");
    fake.ask("a1").end();
    fake.ask("a1");
    expect([fake.open, fake.answered]).toEqual(["a1", ["a1", "a1"]]);
  });

  test("the connection stays busy until the second request has ended", () => {
    const fake = new FakeServer();
    fake.connect("a1");
    const first = fake.ask("a1");
    first.end();
    const second = fake.ask("a1");
    first.close();
    fake.connect("a2");
    fake.connect("a3");
    expect(fake.open).toBe("a1 a3");
    second.close();
    fake.connect("a4");
    expect(fake.open).toBe("a3 a4");
  });

  test("requests of other ports and addresses are independent", () => {
    const fake = new FakeServer();
    for (const name of ["a1", "a2", "b1"]) {
      fake.connect(name);
      fake.ask(name);
    }
    expect(fake.answered).toEqual(["a1", "a2", "b1"]);
  });

  test("a request on a closed connection is not answered", () => {
    const fake = new FakeServer();
    fake.connect("a1").destroy();
    fake.ask("a1");
    expect(fake.answered).toEqual([]);
  });

  test("a request that takes longer than the limit ends its connection, and no other", () => {
    const fake = new FakeServer();
    for (const name of ["a1", "a2"]) fake.connect(name);
    fake.ask("a1");
    fake.ask("a2").close();
    vi.advanceTimersByTime(LIMITS.exchangeWithinMs - 1);
    expect(fake.open).toBe("a1 a2");
    vi.advanceTimersByTime(1);
    expect(fake.open).toBe("a2");
  });
});

describe("over real connections", () => {
  beforeEach(() => void vi.useRealTimers());

  test("a client that does not read its response is disconnected after the time limit", async () => {
    const bytes = Buffer.alloc(64 * 1024 * 1024);
    const server = createServer();
    const ended = new Promise<void>((resolve) =>
      answerWithin({ most: 4, ofAddress: 4, exchangeWithinMs: 300 }, server, (_request, response) => {
        response.once("close", resolve).end(bytes);
      }),
    );
    await once(server.listen(0), "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => {
      socket.destroy();
      server.close();
    });
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.pause();
    await ended;
  });

  test("a TLS client may send the next request as soon as it has the response", async () => {
    const authority = await newAuthority(Date.now());
    const { certificate: cert, key } = await newServing(authority, HOST, Date.now());
    const server = createSecureServer({ cert, key });
    answerWithin({ ...LIMITS, exchangeWithinMs: 60_000 }, server, (_request, response) => {
      setImmediate(() => response.end("ok"));
    });
    await once(server.listen(0), "listening");
    const { port } = server.address() as AddressInfo;
    const client = new Worker(CLIENT, {
      eval: true,
      workerData: { port, servername: HOST, ca: authority.certificate },
    });
    onTestFinished(async () => {
      server.close();
      await client.terminate();
    });
    const [answers] = await once(client, "message");
    expect(answers).toBe(200);
  });
});
