package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"strconv"
	"time"
)

// connection is one client of the server. It opens again after an answer that ends the connection.
type connection struct {
	address  string
	deadline time.Time
	opened   int
	socket   *tls.Conn
	reader   *bufio.Reader
}

// The server is a process of the same benchmark, so its certificate is not what is tested. Sessions are resumed, as clients do.
var tlsConfig = &tls.Config{
	InsecureSkipVerify: true,
	NextProtos:         []string{"http/1.1"},
	ClientSessionCache: tls.NewLRUClientSessionCache(4096),
}

// answer is the head of an answer, and how many bytes its body had.
type answer struct {
	status  int
	length  int64
	chunked bool
	ends    bool
	bytes   int64
}

func (c *connection) open() error {
	socket, err := tls.Dial("tcp", c.address, tlsConfig)
	if err != nil {
		return err
	}
	// No answer that is waited for comes later.
	if err := socket.SetDeadline(c.deadline); err != nil {
		return err
	}
	c.socket = socket
	c.reader = bufio.NewReaderSize(socket, 16<<10)
	c.opened++
	return nil
}

func (c *connection) close() {
	if c.socket != nil {
		c.socket.NetConn().Close()
	}
	c.socket = nil
}

// send writes a request and reads its whole answer.
func (c *connection) send(request []byte) (answer, error) {
	found, err := c.exchange(request)
	if err != nil || found.ends {
		c.close()
	}
	return found, err
}

func (c *connection) exchange(request []byte) (answer, error) {
	found, err := c.begin(request)
	if err != nil {
		return found, err
	}
	if found.chunked {
		found.bytes, err = discardChunks(c.reader)
		return found, err
	}
	found.bytes, err = io.CopyN(io.Discard, c.reader, found.length)
	return found, err
}

// begin writes a request and reads the head of its answer.
func (c *connection) begin(request []byte) (answer, error) {
	if c.socket == nil {
		if err := c.open(); err != nil {
			return answer{}, err
		}
	}
	if _, err := c.socket.Write(request); err != nil {
		return answer{}, err
	}
	return readHead(c.reader)
}

func readHead(reader *bufio.Reader) (answer, error) {
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return answer{}, err
	}
	if len(line) < 12 {
		return answer{}, errors.New("no status line")
	}
	var found answer
	if found.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return found, err
	}
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return found, err
		}
		if len(line) <= 2 {
			return found, nil
		}
		if err := found.read(line); err != nil {
			return found, err
		}
	}
}

func (a *answer) read(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	var err error
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		a.length, err = strconv.ParseInt(string(value), 10, 64)
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		a.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		a.ends = bytes.EqualFold(value, []byte("close"))
	}
	return err
}

func discardChunks(reader *bufio.Reader) (int64, error) {
	var total int64
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return total, err
		}
		// Each chunk ends with a line break, the last one too.
		if _, err := io.CopyN(io.Discard, reader, size+2); err != nil {
			return total, err
		}
		total += size
		if size == 0 {
			return total, nil
		}
	}
}
