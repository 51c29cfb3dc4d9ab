/**
 * Begins the statements that a client runs by itself, to say in a question what would be deleted. The page of the service
 * shows those apart: nobody wrote them. It is no proof of anything, so that they are never left out.
 */
export const OWN_QUERY = '/* Colloquy asks what would be deleted */';
