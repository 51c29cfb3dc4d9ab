import { bulkStage } from './json-bulk.ts';
import { extendedStage } from './json-extended.ts';
import type { JsonPart } from './json-parts.ts';
import type { JsonStage } from './json-stage.ts';

/** Files of JSON that are written for another program: what its documents are is told by the first part. */

/** Reads parts of JSON as they are meant; those of other files pass as they are. */
export class MeantParts {
  #stage: JsonStage | undefined;

  async *read(parts: AsyncIterable<JsonPart>): AsyncGenerator<JsonPart> {
    let isFirst = true;
    for await (const part of parts) {
      if (isFirst) this.#stage = bulkStage(part) ?? extendedStage(part);
      isFirst = false;
      yield this.#stage === undefined ? part : await this.#stage.read(part);
    }
  }

  warnings(): string[] {
    return this.#stage?.warnings() ?? [];
  }
}
