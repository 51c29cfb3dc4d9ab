/**
 * Begins the statements that a client runs on its own, to say in a question what would be deleted. The page of the
 * service shows them apart, since nobody wrote them. Anybody can write this comment, so they are never hidden.
 */
export const OWN_QUERY = '/* Colloquy asks what would be deleted */';
