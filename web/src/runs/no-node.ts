// What stands in for modules of Node in the page: the check of a packet asks for the name of its file only.

export const basename = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

export default { basename };
