import { type AddressInfo, createServer, type Socket } from "node:net";

// An HTTP/2 server that writes its frames by hand, so that it can break every rule of the protocol.
// https://www.rfc-editor.org/rfc/rfc9113

export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
  altsvc: 10,
  origin: 12,
} as const;

export const Flag = { none: 0, ack: 1, endStream: 1, endHeaders: 4, padded: 8 } as const;

/** Length of a frame header, in bytes. */
const HEAD_BYTES = 9;
/** Length of the client's connection preface, in bytes. */
const PREFACE_BYTES = 24;

/**
 * One frame.
 * @param stream 0 for the connection
 */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length & 0xffffff, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A number of 32 bits. */
export function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** A SETTINGS frame with these pairs of identifier and value. */
export function settings(...pairs: readonly (readonly [number, number])[]): Buffer {
  const payload = pairs.map(([id, value]) => Buffer.concat([Buffer.from([id >> 8, id & 0xff]), word(value)]));
  return frame(Type.settings, Flag.none, 0, Buffer.concat(payload));
}

/** A header without compression. https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2 */
export function literal(name: string, value: string, kind = 0x00): Buffer {
  return Buffer.concat([
    Buffer.from([kind]),
    integer(name.length),
    Buffer.from(name, "latin1"),
    integer(value.length),
    Buffer.from(value, "latin1"),
  ]);
}

/** A header that the receiver adds to its dynamic table, after which one byte (0xbe) repeats it. */
export function indexed(name: string, value: string): Buffer {
  return literal(name, value, 0x40);
}

/** An HPACK integer with a prefix of 7 bits. */
function integer(value: number): Buffer {
  if (value < 0x7f) return Buffer.from([value]);
  const bytes = [0x7f];
  let rest = value - 0x7f;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Status 200 with the content type of gRPC. */
export const GRPC_HEAD = Buffer.concat([Buffer.from([0x88]), literal("content-type", "application/grpc")]);
/** Trailers of a successful call. */
export const GRPC_OK = literal("grpc-status", "0");

/** A gRPC message: not compressed, with its length. */
export function message(bytes: Uint8Array, length = bytes.length): Buffer {
  return Buffer.concat([Buffer.from([0]), word(length), bytes]);
}

/** DATA frames of at most 16 KiB, the default limit of clients. */
export function dataFrames(stream: number, bytes: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) {
    frames.push(frame(Type.data, Flag.none, stream, bytes.subarray(at, at + 16_384)));
  }
  return Buffer.concat(frames);
}

/** One connection of a client. */
export class RawConnection {
  readonly socket: Socket;
  #unread = Buffer.alloc(0);
  #isGreeted = false;
  readonly #onRequest: (stream: number) => void;
  readonly #onGreeted: () => void;
  /** How many bytes of DATA the client's windows allow: for the connection, and for each stream. */
  readonly #windows = new Map<number, number>([[0, 65_535]]);
  #initialWindow = 65_535;
  #wake: () => void = () => undefined;

  constructor(socket: Socket, onGreeted: () => void, onRequest: (stream: number) => void) {
    this.socket = socket;
    this.#onGreeted = onGreeted;
    this.#onRequest = onRequest;
    socket.setNoDelay(true);
    socket.on("error", () => undefined).on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("drain", () => this.#wake()).on("close", () => this.#wake());
  }

  /** Sends frames; does nothing after the client has left. */
  send(...frames: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  /** Sends the result of `next` again and again, as fast as the client reads, until the connection ends. */
  async flood(next: () => Buffer): Promise<void> {
    while (!this.socket.destroyed) {
      if (this.socket.write(next())) await new Promise((resolve) => setImmediate(resolve));
      else await this.#woken();
    }
  }

  /**
   * Sends DATA as far as the client's windows allow, until `next` returns undefined or the connection ends.
   * @param next one DATA frame; undefined at the end
   */
  async pour(stream: number, next: () => Buffer | undefined): Promise<void> {
    for (let data = next(); data !== undefined && !this.socket.destroyed; data = next()) {
      const size = data.length - HEAD_BYTES;
      while (!this.socket.destroyed && Math.min(this.#window(0), this.#window(stream)) < size) await this.#woken();
      this.#windows.set(0, this.#window(0) - size);
      this.#windows.set(stream, this.#window(stream) - size);
      if (!this.socket.destroyed && !this.socket.write(data)) await this.#woken();
    }
  }

  /** Waits until the client has read, has opened a window, or has left. */
  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #window(stream: number): number {
    return this.#windows.get(stream) ?? this.#initialWindow;
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    if (!this.#isGreeted) {
      if (this.#unread.length < PREFACE_BYTES) return;
      this.#unread = this.#unread.subarray(PREFACE_BYTES);
      this.#isGreeted = true;
      this.#onGreeted();
    }
    while (this.#unread.length >= HEAD_BYTES) {
      const length = this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < HEAD_BYTES + length) return;
      this.#frame(this.#unread.subarray(0, HEAD_BYTES), this.#unread.subarray(HEAD_BYTES, HEAD_BYTES + length));
      this.#unread = this.#unread.subarray(HEAD_BYTES + length);
    }
  }

  #frame(head: Buffer, payload: Buffer): void {
    const type = head.readUInt8(3);
    const stream = head.readUInt32BE(5);
    if (type === Type.headers) this.#onRequest(stream);
    if (type === Type.settings) {
      for (let at = 0; at + 6 <= payload.length; at += 6) {
        if (payload.readUInt16BE(at) === 4) this.#initialWindow = payload.readUInt32BE(at + 2);
      }
    }
    if (type !== Type.window) return;
    this.#windows.set(stream, this.#window(stream) + payload.readUInt32BE(0));
    this.#wake();
  }
}

/** The behaviour of a raw server. */
export interface RawScript {
  /** Called after the client's preface. Default: sends valid SETTINGS. */
  readonly onGreeted?: ((connection: RawConnection) => void) | undefined;
  /** Called at each request. */
  readonly onRequest?: ((connection: RawConnection, stream: number) => void) | undefined;
}

export interface RawServer {
  readonly port: number;
  /** Number of accepted connections. */
  readonly taken: number;
  close(): void;
}

/** The server's SETTINGS, and its acknowledgement of the client's. */
export const GREETING = Buffer.concat([settings(), frame(Type.settings, Flag.ack, 0)]);

/** Starts a server on loopback. */
export async function rawServer(script: RawScript): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let taken = 0;
  const server = createServer((socket) => {
    taken += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    const connection: RawConnection = new RawConnection(
      socket,
      () => (script.onGreeted === undefined ? connection.send(GREETING) : script.onGreeted(connection)),
      (stream) => script.onRequest?.(connection, stream),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as AddressInfo).port,
    get taken() {
      return taken;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
