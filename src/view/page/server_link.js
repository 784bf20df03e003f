// SPDX-License-Identifier: BSD-3-Clause
// Asks the server; each request has one answer. A request takes the place of an older one in the same slot.

class ServerLink {
  constructor(onState) {
    this.onState = onState;
    this.takers = new Map();    // by slot
    this.waiting = new Map();   // requests by slot, for when the link comes back
    this.open();
  }

  open() {
    const token = new URLSearchParams(location.search).get('token') || '';
    this.socket = new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(token)}`);
    this.socket.binaryType = 'arraybuffer';
    this.socket.onopen = () => {
      this.onState(true);
      for (const request of this.waiting.values()) this.socket.send(JSON.stringify(request));
    };
    this.socket.onmessage = event => this.take(event.data);
    this.socket.onclose = () => {
      this.onState(false);
      setTimeout(() => this.open(), 1500);
    };
  }

  take(data) {
    const length = new DataView(data).getUint32(0, true);
    const about = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    this.waiting.delete(about.slot);
    const taker = this.takers.get(about.slot);
    if (taker) taker(about, data, 4 + length);
  }

  // `newerThan`: the answer comes when there is something newer; undefined: at once.
  ask(slot, request, taker, newerThan) {
    const full = {...request, slot};
    if (newerThan !== undefined) full.newer_than = newerThan;
    this.takers.set(slot, taker);
    const again = {...full};
    delete again.newer_than;   // a server that has started anew counts anew
    this.waiting.set(slot, again);
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(full));
  }

  isWaiting(slot) { return this.waiting.has(slot); }

  forget(slot) {
    this.takers.delete(slot);
    this.waiting.delete(slot);
  }
}
