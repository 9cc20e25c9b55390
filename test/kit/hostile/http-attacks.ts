import type { RawConnection, RawScript } from "./raw-http2.ts";

// Answers of a hostile member over HTTP/1.1, at its metrics port.

function say(...parts: readonly string[]): RawScript {
  return { onGreeted: (connection) => connection.send(...parts.map((part) => Buffer.from(part, "latin1"))) };
}

/** Sends the first text, and then the other one again and again. */
function floods(first: string, again: string): RawScript {
  return {
    onGreeted: (connection) => {
      connection.send(Buffer.from(first, "latin1"));
      const many = Buffer.from(again.repeat(Math.ceil(65_536 / again.length)), "latin1");
      void connection.flood(() => many);
    },
  };
}

/** Sends the first text, and then the other one slowly. */
function drips(first: string, again: string): RawScript {
  return {
    onGreeted: (connection) => {
      connection.send(Buffer.from(first, "latin1"));
      drip(connection, again);
    },
  };
}

function drip(connection: RawConnection, text: string): void {
  const timer = setInterval(() => connection.send(Buffer.from(text, "latin1")), 10);
  connection.socket.once("close", () => clearInterval(timer));
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const REFUSAL = "HTTP/1.1 503 no\r\nTransfer-Encoding: chunked\r\n\r\n";

export const HTTP_ATTACKS: Readonly<Record<string, RawScript>> = {
  nothing: { onGreeted: () => undefined },
  "the connection is reset": { onGreeted: (connection) => void connection.socket.resetAndDestroy() },
  "noise without an end": floods("", "\xff\x00\x17"),
  "a head without an end": floods(OK, "a: b\r\n"),
  "one header without an end": floods(`${OK}a: `, "bbbb"),
  "a status line without an end": floods("HTTP/1.1 200 ", "bbbb"),
  "status 100 without an end": floods("", "HTTP/1.1 100 Continue\r\n\r\n"),
  "status 103 without an end": floods("", "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"),
  "another protocol": say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "hello"),
  "a redirect": say("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
  "two lengths": say(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`),
  "a length of 2 EiB, and little of it": say(`${OK}Content-Length: 2305843009213693952\r\n\r\n`, "x"),
  "a body without an end": floods(`${OK}\r\n`, "etcd_server_is_leader 1\n"),
  "a line without an end": floods(`${OK}\r\n`, "xxxxxxxx"),
  "lines of nothing": floods(`${OK}\r\n`, "\n"),
  "other members without an end": floods(`${OK}\r\n`, 'etcd_network_peer_received_bytes_total{From="7"} 1\n'),
  "chunks of one byte": floods(CHUNKED, "1\r\nx\r\n"),
  "chunks of one line end": floods(CHUNKED, "1\r\n\n\r\n"),
  "a chunk's extension without an end": floods(`${CHUNKED}1;`, "aaaaaaaa"),
  "a chunk's length without an end": floods(CHUNKED, "00000000"),
  "trailers without an end": floods(`${CHUNKED}0\r\n`, "a: b\r\n"),
  "a refusal without an end": floods(REFUSAL, "4\r\nno\n\n\r\n"),
  "a body that drips": drips(`${OK}\r\n`, "x"),
  "a head that drips": drips(OK, "a"),
  "a second answer without an end": floods(`${OK}Content-Length: 0\r\n\r\n`, `${OK}Content-Length: 0\r\n\r\n`),
};
