import { createSpool, type Spool } from '../loading/spool.ts';

/** The files of an object that the engine reads. */
export interface ObjectSpool extends Spool {
  /** Keeps them until what this returns is called, even if they are to be removed. */
  hold(): () => Promise<void>;
}

/** Those of all objects that are being read, or of which rows are still to be stored. */
export class ObjectSpools {
  readonly #folder: string;
  readonly #spools = new Set<Spool>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  create(): ObjectSpool {
    const spool = createSpool(this.#folder);
    this.#spools.add(spool);
    let holds = 0;
    const hold = () => {
      holds += 1;
      let isHeld = true;
      return async () => {
        if (!isHeld) return;
        isHeld = false;
        holds -= 1;
        if (holds > 0) return;
        this.#spools.delete(spool);
        await spool.remove();
      };
    };
    return { create: () => spool.create(), remove: hold(), hold };
  }

  /** To be called when nothing is read or stored any more, whatever became of it. */
  async removeAll(): Promise<void> {
    for (const spool of this.#spools) await spool.remove();
    this.#spools.clear();
  }
}
