// Where the browser's key pair lies: IndexedDB keeps a key without ever showing it to a script.

/** `own` identifies this browser. `next` will, once the gateway knows it: a page that ends before then must not lose it. */
export type Slot = "own" | "next";

export interface KeyStore {
  read(slot: Slot): Promise<CryptoKeyPair | null>;
  write(slot: Slot, pair: CryptoKeyPair): Promise<void>;
  clear(): Promise<void>;
}

const DATABASE = "holdstead";
const STORE = "keys";
const HELD = "Another tab holds the place where this browser's key lies.";

function open(): Promise<IDBDatabase> {
  return new Promise((done, fail) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => done(opening.result);
    opening.onerror = () => fail(opening.error);
    opening.onblocked = () => fail(new Error(HELD));
  });
}

async function act<T>(mode: IDBTransactionMode, act: (keys: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  try {
    return await new Promise((done, fail) => {
      const transaction = database.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => done(request.result);
      transaction.onabort = () => fail(transaction.error);
    });
  } finally {
    database.close();
  }
}

function remove(): Promise<void> {
  return new Promise((done, fail) => {
    const removing = indexedDB.deleteDatabase(DATABASE);
    removing.onsuccess = () => done();
    removing.onerror = () => fail(removing.error);
    removing.onblocked = () => fail(new Error(HELD));
  });
}

/** Only a pair that signs is one of ours: another script of this origin may have written something else there. */
const isPair = (found: unknown): found is CryptoKeyPair =>
  typeof found === "object" &&
  found !== null &&
  "privateKey" in found &&
  found.privateKey instanceof CryptoKey &&
  "publicKey" in found &&
  found.publicKey instanceof CryptoKey;

export const browserKeys: KeyStore = {
  read: async (slot) => {
    const found: unknown = await act("readonly", (keys) => keys.get(slot));
    return isPair(found) ? found : null;
  },
  write: async (slot, pair) => {
    const put = async () => void (await act("readwrite", (keys) => keys.put(pair, slot)));
    // Another program at this port may have left a database of this name that we cannot use.
    await put().catch(() => remove().then(put));
  },
  clear: () => act("readwrite", (keys) => keys.clear()),
};
