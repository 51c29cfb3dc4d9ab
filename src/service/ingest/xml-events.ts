import { SaxesParser } from 'saxes';
import { KEYS_MAX } from '../../contract/json/json-reader.ts';
import { withoutTrailing } from '../../contract/text.ts';

/** Characters that the parser is given at once, so that what it gathers is looked at in between. */
const STEP_CHARS = 64 * 1024;
/** The longest text, attribute, comment or declaration, in characters: the parser keeps all of it until its end. */
const TOKEN_CHARS_MAX = 10 * 1024 * 1024;
/** The parser keeps the names of open elements. */
const LEVELS_MAX = 10_000;

/** Text that is no XML; the message is a clause saying what is wrong. */
export class XmlError extends Error {
  readonly line: number;

  constructor(why: string, line: number, options?: ErrorOptions) {
    super(why, options);
    this.line = line;
  }
}

export interface XmlHandlers {
  /** `line`: where its tag begins. The attributes have no prototype. */
  open(name: string, attributes: Readonly<Record<string, string>>, line: number): void;
  close(name: string): void;
  /** A part of the text of the open element, entities of XML itself replaced; also of a CDATA section. */
  text(text: string): void;
}

/**
 * Reads XML that comes in pieces, in memory that does not grow with it. Declarations of a DOCTYPE are passed over, so
 * that no entity can blow up or read a file: whoever uses one is told so. Throws an `XmlError`, or what a handler throws.
 */
export class XmlEvents {
  readonly #parser = new SaxesParser();
  #line = 1;
  #levels = 0;
  #attributes = 0;
  /** Characters since something was found. */
  #waiting = 0;

  constructor({ open, close, text }: XmlHandlers) {
    const parser = this.#parser;
    parser.on('opentagstart', () => {
      // The parser has read the character behind the name, which may have ended the line.
      this.#line = parser.columnIndex === 0 ? parser.line - 1 : parser.line;
      this.#attributes = 0;
      this.#levels += 1;
      this.#waiting = 0;
      if (this.#levels > LEVELS_MAX) throw new XmlError('it is nested too deeply', parser.line);
    });
    parser.on('attribute', () => {
      this.#attributes += 1;
      this.#waiting = 0;
      if (this.#attributes > KEYS_MAX) {
        throw new XmlError(`an element has more than ${KEYS_MAX} attributes`, parser.line);
      }
    });
    parser.on('opentag', ({ name, attributes }) => open(name, attributes, this.#line));
    parser.on('closetag', ({ name }) => {
      this.#levels -= 1;
      this.#waiting = 0;
      close(name);
    });
    for (const kind of ['text', 'cdata'] as const) {
      parser.on(kind, (found) => {
        this.#waiting = 0;
        text(found);
      });
    }
    for (const kind of ['comment', 'processinginstruction', 'doctype'] as const) {
      parser.on(kind, () => {
        this.#waiting = 0;
      });
    }
    parser.on('error', (error) => {
      throw new XmlError(wordsOf(error.message), parser.line, { cause: error });
    });
  }

  /** The line that has been reached. */
  get line(): number {
    return this.#parser.line;
  }

  write(text: string): void {
    for (let from = 0; from < text.length; from += STEP_CHARS) {
      const step = text.slice(from, from + STEP_CHARS);
      this.#waiting += step.length;
      this.#parser.write(step);
      if (this.#waiting <= TOKEN_CHARS_MAX) continue;
      throw new XmlError(
        `a text, attribute or comment has more than ${TOKEN_CHARS_MAX} characters (10 MiB)`,
        this.#parser.line,
      );
    }
  }

  end(): void {
    this.#parser.close();
  }
}

const OWN_WORDS: Readonly<Record<string, string>> = {
  'undefined entity': 'it uses an entity that XML itself does not define; those that a file declares are not expanded',
  'document must contain a root element': 'it has no element',
};

/** The parser's message without its place. */
function wordsOf(message: string): string {
  const words = withoutTrailing(message.replace(/^\d+:\d+: /, ''), '.');
  return OWN_WORDS[words] ?? words;
}
